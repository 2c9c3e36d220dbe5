# SPDX-License-Identifier: GPL-2.0-only
"""The instructions of loaded BPF programs, after the verifier removed what is dead. By the system call: bpftool takes
seconds a program in an emulated guest."""
import ctypes
import os
import platform
import struct

CALL = {'x86_64': 321, 'aarch64': 280}
GET_NEXT_ID, GET_FD_BY_ID, OBJ_GET_INFO = 11, 13, 15
# struct bpf_prog_info up to name: type, id, tag, lengths and pointers, load time, user, maps, name.
INFO = struct.Struct('=II8sIIQQQIIQ16s')
INSTRUCTION = struct.Struct('=BBhi')
# BPF_STX | BPF_ATOMIC, for words and double words; of those, the immediate that only orders.
ATOMIC = (0xc3, 0xdb)
LOAD_ACQUIRE, STORE_RELEASE = 0x100, 0x110

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    """Returns (result, attributes as the kernel left them)."""
    memory = ctypes.create_string_buffer(attributes.ljust(128, b'\0'), 128)
    result = libc.syscall(CALL[platform.machine()], command, memory, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), f'bpf command {command}: {os.strerror(ctypes.get_errno())}')
    return result, memory.raw


def info(descriptor, room):
    """(struct bpf_prog_info unpacked, instructions); room: how many bytes of instructions fit."""
    code = ctypes.create_string_buffer(max(room, 1))
    wanted = ctypes.create_string_buffer(
        INFO.pack(0, 0, b'', 0, room, 0, ctypes.addressof(code) if room else 0, 0, 0, 0, 0, b''), INFO.size)
    bpf(OBJ_GET_INFO, struct.pack('=IIQ', descriptor, INFO.size, ctypes.addressof(wanted)))
    return INFO.unpack(wanted.raw), code.raw[:room]


def program_ids():
    last = 0
    while True:
        try:
            _, attributes = bpf(GET_NEXT_ID, struct.pack('=II', last, 0))
        except OSError:
            return
        last = struct.unpack_from('=I', attributes, 4)[0]
        yield last


def programs(prefix):
    """{name: [(opcode, registers, offset, immediate)]} of the loaded programs whose name starts so."""
    found = {}
    for number in program_ids():
        descriptor, _ = bpf(GET_FD_BY_ID, struct.pack('=I', number))
        try:
            fields, _ = info(descriptor, 0)
            name = fields[11].rstrip(b'\0').decode()
            if name.startswith(prefix):
                _, code = info(descriptor, fields[4])
                found[name] = list(INSTRUCTION.iter_unpack(code))
        finally:
            os.close(descriptor)
    return found


def atomic_count(instructions):
    """How many of them read, modify and write memory atomically."""
    return sum(opcode in ATOMIC and immediate not in (LOAD_ACQUIRE, STORE_RELEASE)
               for opcode, _, _, immediate in instructions)
