# SPDX-License-Identifier: GPL-2.0-only
"""The initial ram disk of a fast guest: busybox, our init, a few modules and the job. Made in memory for each boot."""

import lzma
import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

from kernels import Impossible

HERE = Path(__file__).resolve().parent
NEEDED_MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")
APPLETS = (
    "sh cat cp echo hostname ifconfig insmod kill ln mkdir mkfifo mount poweroff printf readlink setsid sleep "
    "switch_root sync umount uname"
).split()
# Fresh file systems hide what the host has there; see mount_kept in init.
COVERED = ("/tmp", "/run", "/dev")


class Archive:
    """A cpio archive in the only format that the kernel reads."""

    def __init__(self):
        self.parts = []
        self.inode = 0

    def add(self, name, mode, data=b""):
        self.inode += 1
        name = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def folder(self, name):
        self.add(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        self.add(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def module_key(path):
    return Path(path).name.split(".")[0].replace("-", "_")


def module_files(folder, wanted):
    """Paths of the wanted modules and what they depend on, in loading order; what is built in is left out."""
    depends = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        depends[module_key(path)] = (path, rest.split())
    order = []
    for name in wanted:
        if name in depends:
            path, needs = depends[name]
            # depmod lists the nearest dependency first, so the farthest must be loaded first.
            order += [need for need in reversed(needs) if need not in order]
            if path not in order:
                order.append(path)
    return [folder / path for path in order]


def unpacked(path):
    """The plain module in a possibly compressed file."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def settings(mark, kernel, keep, rwdirs):
    values = {
        "MARK": mark,
        "CONFIG": str(kernel.config or ""),
        "MODULES": str(kernel.modules or ""),
        "KEEP": " ".join(keep),
        "RWDIRS": " ".join(rwdirs),
    }
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()).encode()


def covered(folders):
    """Those folders that the guest's fresh file systems would hide."""
    return sorted({str(path) for path in folders if any(str(path).startswith(top + "/") for top in COVERED)})


def command_script(job):
    lines = [f"cd {shlex.quote(job.cwd)} || exit 126"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in job.environment.items()]
    lines.append("exec " + shlex.join(job.command))
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def build(kernel, job, mark, keep):
    """The archive as bytes."""
    busybox = shutil.which("busybox", path="/bin:/usr/bin:" + os.environ.get("PATH", ""))
    if busybox is None:
        raise Impossible("busybox is not installed; run tools/setup")
    archive = Archive()
    for folder in ("bin", "modules", "job"):
        archive.folder(folder)
    archive.file("bin/busybox", Path(busybox).read_bytes(), 0o755)
    for applet in APPLETS:
        archive.link(f"bin/{applet}", "busybox")
    archive.file("init", (HERE / "init").read_bytes(), 0o755)
    archive.file("job/settings", settings(mark, kernel, keep, job.rwdirs))
    archive.file("job/command", command_script(job))
    if kernel.modules:
        for number, path in enumerate(module_files(kernel.modules, NEEDED_MODULES)):
            archive.file(f"modules/{number:02d}-{module_key(path)}.ko", unpacked(path))
    return archive.bytes()
