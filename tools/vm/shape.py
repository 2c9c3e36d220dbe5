# SPDX-License-Identifier: GPL-2.0-only
"""The shape of the guest machine: CPUs, topology, NUMA nodes and memory."""

import re
from dataclasses import dataclass

from kernels import Refusal

MAX_CPUS = 512
# Up to here a local APIC has 8-bit ids and needs no interrupt remapping.
MAX_PLAIN_CPUS = 255
LEVELS = ("sockets", "dies", "clusters", "modules", "cores", "threads")
CHOICES = "give it as 8,sockets=2,cores=2,threads=2 and optionally ,numa"


@dataclass
class Shape:
    cpus: int
    levels: dict
    numa: bool
    memory_mb: int

    @property
    def nodes(self):
        """CPU numbers of each NUMA node: a node is a socket, and QEMU numbers CPUs socket by socket."""
        count = self.levels.get("sockets", 1)
        each = self.cpus // count
        return [range(node * each, (node + 1) * each) for node in range(count)]

    def smp(self):
        return ",".join([str(self.cpus)] + [f"{level}={number}" for level, number in self.levels.items()])

    def numa_options(self):
        """QEMU arguments for one node per socket, at the usual distance of 21."""
        if not self.numa:
            return []
        options = []
        each = self.memory_mb // len(self.nodes)
        for node, cpus in enumerate(self.nodes):
            options += ["-object", f"memory-backend-ram,id=node{node},size={each}M"]
            options += ["-numa", f"node,nodeid={node},cpus={cpus[0]}-{cpus[-1]},memdev=node{node}"]
        for first in range(len(self.nodes)):
            for second in range(first + 1, len(self.nodes)):
                options += ["-numa", f"dist,src={first},dst={second},val=21"]
        return options


def positive(text, what):
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise Refusal(f"{what} must be a whole number of at least 1, not '{text}'")
    return int(text)


def parse_memory(text):
    """MB from 512M, 2G or plain MB."""
    found = re.fullmatch(r"([0-9]+)([MmGg]?)", text)
    if not found:
        raise Refusal(f"memory is given as 512M or 2G, not '{text}'")
    size = int(found.group(1)) * (1024 if found.group(2) in ("G", "g") else 1)
    if size < 256:
        raise Refusal(f"a guest needs at least 256M of memory, not '{text}'")
    return size


def parse_smp(text):
    """CPUs, levels and whether NUMA nodes are wanted, from 8,sockets=2,cores=2,threads=2,numa."""
    first, *rest = text.split(",")
    cpus = positive(first, "the number of CPUs in --smp")
    levels, numa, product = {}, False, 1
    for part in rest:
        level, equals, number = part.partition("=")
        if part == "numa":
            numa = True
        elif equals and level in LEVELS and level not in levels:
            levels[level] = positive(number, f"{level} in --smp")
            product *= levels[level]
        else:
            raise Refusal(f"--smp does not understand '{part}'; {CHOICES} (levels: {', '.join(LEVELS)})")
    if levels and product != cpus:
        raise Refusal(f"--smp {text} describes {product} CPUs, but names {cpus}; make the product of its levels equal")
    if numa and levels.get("sockets", 1) < 2:
        raise Refusal(f"--smp {text} asks for NUMA nodes, one per socket, but has one socket; {CHOICES}")
    return cpus, levels, numa


def make(cpus, smp, memory):
    """The shape from the options as the user gave them; None stands for not given."""
    levels, numa = {}, False
    if smp is not None:
        count, levels, numa = parse_smp(smp)
        if cpus is not None and positive(cpus, "--cpus") != count:
            raise Refusal(f"--cpus {cpus} and --smp {smp} name different numbers of CPUs; give one of them")
    else:
        count = positive(cpus, "--cpus") if cpus is not None else 2
    if count > MAX_CPUS:
        raise Refusal(f"{count} CPUs are more than the {MAX_CPUS} that the guest kernels support")
    # A fresh kernel's per-CPU areas and kernel threads take some 10 MB for each CPU.
    size = parse_memory(memory) if memory is not None else 1024 + 16 * count
    return Shape(count, levels, numa, size)
