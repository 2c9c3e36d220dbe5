# SPDX-License-Identifier: GPL-2.0-only
"""Booting through virtme-ng, the documented way to run kernel selftests. Slower than the fast runner."""

import os
import shlex
import shutil
import subprocess
import tempfile

from kernels import Impossible, cache
from qemu import Console, Outcome, Stream, Watch, end, kernel_arguments, machine_arguments, start

# What virtme-ng leaves undone: bpffs, a running loopback, and the kernel's configuration in /boot.
PREPARE = """mount -t bpf bpf /sys/fs/bpf 2>/dev/null
ip link set lo up
[ -z {config} ] || {{ mount -t tmpfs boot /boot && cp {config} /boot/config-$(uname -r); }}
"""


def find_virtme():
    unpacked = cache() / "virtme-ng/usr/bin/vng"
    if unpacked.is_file():
        return [str(unpacked)], {"PYTHONPATH": str(cache() / "virtme-ng/usr/lib/python3/dist-packages")}
    installed = shutil.which("vng")
    if installed:
        return [installed], {}
    raise Impossible(f"virtme-ng is neither in {cache()} nor installed; run tools/setup")


def guest_script(kernel, job, mark):
    """Shell text for the guest: prepare, run the job, end both streams with the mark."""
    lines = [PREPARE.format(config=shlex.quote(str(kernel.config or "")))]
    lines.append(f"cd {shlex.quote(job.cwd)} || exit 126")
    lines += [f"export {name}={shlex.quote(value)}" for name, value in job.environment.items()]
    lines.append(f"(exec {shlex.join(job.command)}); status=$?")
    lines.append(f"printf '\\0{mark}\\n' >&2; printf '\\0{mark} %s\\n' $status")
    return "\n".join(lines)


def arguments(kernel, shape, options, job, script):
    virtme, environment = find_virtme()
    command = virtme + ["-r", str(kernel.image), "--cpus", shape.smp(), "--memory", f"{shape.memory_mb}M"]
    command += ["--disable-kvm"] if not options.kvm else []
    command += ["--append=" + kernel_arguments(kernel, options)]
    command += [f"--rwdir={folder}" for folder in job.rwdirs]
    # The last -cpu and -accel on QEMU's command line win.
    mine = machine_arguments(shape, options)
    for flag in ("-cpu", "-icount", "-rtc"):
        if flag in mine:
            command += [f"--qemu-opts={flag} {mine[mine.index(flag) + 1]}"]
    return command + ["--", script], environment


def run(kernel, shape, options, job, mark, sinks):
    """One boot through virtme-ng."""
    text = guest_script(kernel, job, mark)
    streams = [Stream(b"\0" + mark.encode(), sinks[0]), Stream(b"\0" + mark.encode(), sinks[1])]
    with tempfile.TemporaryDirectory(prefix="steward-vm-") as folder:
        command, environment = arguments(kernel, shape, options, job, text)
        environment = dict(os.environ, TMPDIR=folder, HOME=folder, **environment)
        # Pipes: virtme-ng would truncate a file.
        process = start(command, [], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=job.cwd, env=environment)
        try:
            watch = Watch(options.timeout, {process.stdout: streams[0].feed, process.stderr: streams[1].feed})
            in_time = watch.run(lambda: all(stream.ended for stream in streams))
        finally:
            end(process)
            process.stdout.close()
            process.stderr.close()
    words = (streams[0].tail or b"").split()
    return Outcome(
        status=int(words[0]) if streams[0].ended and words else None,
        timed_out=not in_time,
        silent=not any(stream.passed for stream in streams),
        died=process.returncode,
    )
