# SPDX-License-Identifier: GPL-2.0-only
"""Booting through virtme-ng, the documented way to run kernel selftests. Slower than the fast runner."""

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from kernels import Impossible, cache
from qemu import Outcome, Stream, Watch, end, kernel_arguments, machine_arguments, start, write_all

# What virtme-ng leaves undone: bpffs, a running loopback, and the kernel's configuration in /boot.
PREPARE = """mount -t bpf bpf /sys/fs/bpf 2>/dev/null
ip link set lo up
[ -z {config} ] || {{ mount -t tmpfs boot /boot && cp {config} /boot/config-$(uname -r); }}
"""


def find_virtme():
    unpacked = cache() / "virtme-ng/usr"
    if (unpacked / "bin/vng").is_file():
        # It calls its own helpers by name.
        path = f"{unpacked}/bin:{os.environ.get('PATH', '/usr/bin:/bin')}"
        return [f"{unpacked}/bin/vng"], {"PYTHONPATH": f"{unpacked}/lib/python3/dist-packages", "PATH": path}
    installed = shutil.which("vng")
    if installed:
        return [installed], {}
    raise Impossible(f"virtme-ng is neither in {cache()} nor installed; run tools/setup")


@dataclass
class Late:
    """Passes to a stream what comes after the mark that the job's script begins with; before it, QEMU may complain."""

    mark: bytes
    stream: Stream
    before: bytes = b""
    begun: bool = False

    def feed(self, data):
        if not self.begun:
            self.before, found, data = (self.before + data).partition(self.mark)
            self.begun = bool(found)
        if self.begun:
            self.stream.feed(data)


def guest_script(kernel, job, mark):
    """Shell text for the guest: prepare, run the job between two marks on both streams."""
    lines = [PREPARE.format(config=shlex.quote(str(kernel.config or "")))]
    lines.append(f"cd {shlex.quote(job.cwd)} || exit 126")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in job.environment.items()]
    lines.append(f"printf '\\0%s\\n' {mark}; printf '\\0%s\\n' {mark} >&2")
    lines.append(f"(exec {shlex.join(job.command)}); status=$?")
    lines.append(f"printf '\\0%s\\n' {mark} >&2; printf '\\0%s %s\\n' {mark} $status")
    return "\n".join(lines)


def arguments(kernel, shape, options, job, keep, script):
    virtme, environment = find_virtme()
    command = virtme + ["-r", str(kernel.image), "--cpus", shape.smp(), "--memory", f"{shape.memory_mb}M"]
    command += ["--disable-kvm"] if not options.kvm else []
    command += ["--append=" + kernel_arguments(kernel, options)]
    command += [f"--rodir={folder}" for folder in keep]
    command += [f"--rwdir={folder}" for folder in job.rwdirs]
    # The last -cpu on QEMU's command line wins.
    mine = machine_arguments(shape, options)
    for flag in ("-cpu", "-icount", "-rtc"):
        if flag in mine:
            command += [f"--qemu-opts={flag} {mine[mine.index(flag) + 1]}"]
    return command + ["--", script], environment


def run(kernel, shape, options, job, keep, mark, sinks):
    """One boot through virtme-ng."""
    streams = [Stream(b"\0" + mark.encode(), sink) for sink in sinks]
    out, err = (Late(stream.mark + b"\n", stream) for stream in streams)
    with tempfile.TemporaryDirectory(prefix="steward-vm-") as folder:
        # In a file, because virtme-ng passes its command on the kernel's command line, which ends at 2048 characters.
        script = os.path.join(folder, "job")
        with open(script, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(guest_script(kernel, job, mark))
        command, environment = arguments(kernel, shape, options, job, keep + [folder], f"sh {script}")
        environment = dict(os.environ, TMPDIR=folder, HOME=folder, **environment)
        # Pipes: virtme-ng would truncate a file. It looks for shared folders relative to where it runs, hence the root.
        process = start(command, [], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", env=environment)
        try:
            watch = Watch(options.timeout, {process.stdout: out.feed, process.stderr: err.feed})
            in_time = watch.run(lambda: all(stream.ended for stream in streams))
        finally:
            end(process)
            process.stdout.close()
            process.stderr.close()
    if not (out.begun or err.begun):
        write_all(sinks[1], out.before + err.before)  # what virtme-ng or QEMU had to say
    words = (streams[0].tail or b"").split()
    return Outcome(
        status=int(words[0]) if streams[0].ended and words else None,
        timed_out=not in_time,
        silent=not (out.begun or err.begun),
        complaint=err.before.decode(errors="replace").strip(),
        died=process.returncode,
    )
