# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU command line, its process, and the streams of a guest."""

import ctypes
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field

from kernels import Impossible
from shape import MAX_PLAIN_CPUS

QEMU = "qemu-system-x86_64"
# With more emulated CPUs than this their threads hinder each other: 64 of them on 2 cores boot with half the work if
# all share one thread.
MAX_THREADS = 16
TAIL = 64 * 1024  # bytes of console kept to tell what went wrong
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None)


@dataclass
class Job:
    command: list
    cwd: str
    environment: dict
    rwdirs: list


@dataclass
class Options:
    icount: bool = False
    thread: str | None = None  # multi or single; None: whatever suits the number of CPUs
    kvm: bool = False
    append: str = ""
    timeout: float = 600
    console: str | None = None  # file that gets the kernel's messages


@dataclass
class Outcome:
    status: int | None = None  # of the command, None if the guest did not report one
    timed_out: bool = False
    silent: bool = True  # nothing came out of the guest
    console: bytes = b""
    complaint: str = ""  # what QEMU itself said
    died: int = 0  # QEMU's own exit status


def find_qemu():
    path = shutil.which(QEMU)
    if path is None:
        raise Impossible(f"{QEMU} is not installed; run tools/setup")
    return path


def host_tsc_hz():
    """Rate of the host's time stamp counter, which an emulated guest without icount reads as its own."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("cpu MHz"):
                    return int(float(line.split(":")[1]) * 1e6)
    except (OSError, ValueError):
        pass
    return 2_000_000_000


def kernel_arguments(kernel, options):
    """Telling the kernel what it would otherwise measure saves half a second for each CPU, and noise on a busy host."""
    # Under icount the counter runs at one step per nanosecond of virtual time.
    tsc_hz = 1_000_000_000 if options.icount else host_tsc_hz()
    words = ["console=ttyS0", "panic=-1", "nowatchdog", "rcupdate.rcu_expedited=1", "mitigations=off", "nokaslr"]
    # An emulated timer on a busy host fails the boot's check of it now and then: a panic.
    words += ["no_timer_check"]
    words += [] if options.kvm else [f"lpj={tsc_hz // kernel.hz}", "tsc=reliable"]
    words += ["loglevel=7"] if options.console else ["quiet", "loglevel=1"]
    return " ".join(words + ([options.append] if options.append else []))


def thread_mode(shape, options):
    """One host thread for each guest CPU, or one for all of them."""
    if options.icount or options.thread:
        return options.thread or "single"
    return "multi" if shape.cpus <= MAX_THREADS else "single"


def machine_arguments(shape, options):
    """Accelerator, CPU model, topology and memory."""
    machine, extra = "q35", []
    if options.kvm:
        accelerator, model = "kvm", "host"
    else:
        accelerator = "tcg,thread=" + thread_mode(shape, options)
        # Intel, because topoext, and with it SMT, does not exist for emulated AMD models; without what emulation lacks.
        model = "Haswell-noTSX,-pcid,-tsc-deadline,-invpcid"
    if shape.cpus > MAX_PLAIN_CPUS:
        machine += ",kernel-irqchip=split" if options.kvm else ""
        model = model if options.kvm else "qemu64,+x2apic"
        extra = ["-device", "intel-iommu,intremap=on,eim=on"]
    arguments = ["-machine", machine, "-accel", accelerator, "-cpu", model, "-smp", shape.smp()]
    arguments += ["-m", f"{shape.memory_mb}M"] + shape.numa_options() + extra
    return arguments + (["-icount", "shift=0,sleep=off", "-rtc", "clock=vm"] if options.icount else [])


def share(tag, path, writable):
    access = "" if writable else ",readonly=on"
    path = path.replace(",", ",,")
    return [
        "-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{access}",
        "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
    ]  # fmt: skip


def fast_arguments(qemu, kernel, shape, options, job, descriptors):
    """The whole command of a fast guest; descriptors: initrd, console, out, err."""
    arguments = [qemu, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"]
    arguments += machine_arguments(shape, options)
    arguments += ["-kernel", str(kernel.image), "-initrd", f"/proc/self/fd/{descriptors['initrd']}"]
    arguments += ["-append", kernel_arguments(kernel, options)]
    arguments += ["-chardev", f"socket,id=console,fd={descriptors['console']}", "-serial", "chardev:console"]
    arguments += ["-device", "virtio-serial-pci"]
    for name in ("out", "err"):
        arguments += ["-chardev", f"socket,id={name},fd={descriptors[name]}"]
        arguments += ["-device", f"virtserialport,chardev={name},name=steward.{name}"]
    arguments += share("root", "/", False)
    for number, folder in enumerate(job.rwdirs):
        arguments += share(f"rw{number}", folder, True)
    return arguments


def adopt_orphans():
    """Makes us the parent of grandchildren whose parent has ended, so that end() can wait for them too."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)


def start(arguments, keep_open, **keywords):
    """A child in a process group of its own that the kernel ends if we die first."""
    parent = os.getpid()

    def bind():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, pass_fds=keep_open, start_new_session=True, preexec_fn=bind, **keywords
    )


def end(process):
    """Ends the child and everything in its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    try:
        while True:
            os.waitpid(-process.pid, 0)
    except ChildProcessError:
        pass


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


@dataclass
class Stream:
    """Passes the output of the job on as it comes, up to the mark that ends it."""

    mark: bytes
    sink: int
    held: bytes = b""
    tail: bytes | None = None  # what followed the mark
    passed: int = 0

    def feed(self, data):
        if self.tail is not None:
            self.tail += data
            return
        data = self.held + data
        at = data.find(self.mark)
        if at >= 0:
            self.held, self.tail = b"", data[at + len(self.mark) :]
            data = data[:at]
        else:
            # The mark may have come in part: hold back from its first byte, which text does not contain.
            at = data.rfind(self.mark[:1], max(0, len(data) - len(self.mark)))
            self.held = data[at:] if at >= 0 else b""
            data = data[: len(data) - len(self.held)]
        self.passed += len(data)
        write_all(self.sink, data)

    def flush(self):
        if self.held:
            write_all(self.sink, self.held)
            self.held = b""

    @property
    def ended(self):
        return self.tail is not None and b"\n" in self.tail


@dataclass
class Console:
    """Keeps the end of the kernel's messages, and all of them in a file if one is wanted."""

    file: object = None
    kept: bytes = b""

    def feed(self, data):
        self.kept = (self.kept + data)[-TAIL:]
        if self.file:
            self.file.write(data)
            self.file.flush()


@dataclass
class Watch:
    """Reads what comes from a child until it has reported, ended, or run out of time."""

    timeout: float
    feeds: dict = field(default_factory=dict)

    def run(self, done):
        """True unless time ran out. Stops when done() says so or all streams have ended."""
        limit = time.monotonic() + self.timeout
        with selectors.DefaultSelector() as selector:
            for source, feed in self.feeds.items():
                selector.register(source, selectors.EVENT_READ, feed)
            while selector.get_map() and not done():
                left = limit - time.monotonic()
                if left <= 0:
                    return False
                for key, _ in selector.select(left):
                    try:
                        data = os.read(key.fd, 1 << 16)
                    except ConnectionResetError:
                        data = b""
                    if data:
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
        return True


def run_fast(arguments_for, initrd, mark, options, sinks):
    """One boot. arguments_for(descriptors) gives the command; sinks are the descriptors for output and errors."""
    pairs = {name: socket.socketpair() for name in ("console", "out", "err")}
    image = os.memfd_create("initrd")
    write_all(image, initrd)
    theirs = {name: pair[1].fileno() for name, pair in pairs.items()} | {"initrd": image}
    streams = [Stream(mark, sinks[0]), Stream(mark, sinks[1])]
    console = Console(open(options.console, "wb") if options.console else None)
    complaint = Console()
    process = start(
        arguments_for(theirs), list(theirs.values()), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        os.close(image)
        for pair in pairs.values():
            pair[1].close()
        watch = Watch(options.timeout, {
            pairs["out"][0]: streams[0].feed, pairs["err"][0]: streams[1].feed,
            pairs["console"][0]: console.feed, process.stdout: complaint.feed,
        })  # fmt: skip
        in_time = watch.run(lambda: all(stream.ended for stream in streams))
    finally:
        end(process)
        for pair in pairs.values():
            pair[0].close()
        process.stdout.close()
        if console.file:
            console.file.close()
    for stream in streams:
        stream.flush()
    words = (streams[0].tail or b"").split()
    return Outcome(
        status=int(words[0]) if streams[0].ended and words else None,
        timed_out=not in_time,
        silent=not (console.kept or any(stream.passed for stream in streams)),
        console=console.kept,
        complaint=complaint.kept.decode(errors="replace").strip(),
        died=process.returncode,
    )


def passing_streams():
    """Descriptors that the job's output and errors go to."""
    sys.stdout.flush()
    sys.stderr.flush()
    return sys.stdout.fileno(), sys.stderr.fileno()
