// SPDX-License-Identifier: GPL-2.0-only
// A copy of the shared numbers at one moment, and the difference of two. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "steward/abi.h"

namespace steward {

struct CpuStats {
  uint32_t cpu = 0;
  steward_cell cell = {};
};

struct StatsSnapshot {
  uint64_t time_ns = 0;   // CLOCK_MONOTONIC; in a difference: the length of the interval
  uint64_t start_ns = 0;  // when the scheduler was attached
  steward_steer steer = {};
  steward_balance balance = {};
  std::vector<CpuStats> cpus;  // possible CPUs, ascending
};

// Calls f(name, value) for every number of a CPU, in the order in which they are shown.
template <typename Cpu, typename F>
void VisitCpu(Cpu& cpu, F&& f) {
  f("cpu", cpu.cpu);
  f("online", cpu.cell.seen.online);
  f("idle", cpu.cell.seen.idle);
  f("nr_queued", cpu.cell.seen.nr_queued);
  f("runnable_load", cpu.cell.seen.runnable_load);
  f("blocked_load", cpu.cell.seen.blocked_load);
  f("util", cpu.cell.seen.util);
  f("balance_passes", cpu.cell.seen.balance_passes);
  f("idle_while_queued_ns", cpu.cell.seen.idle_while_queued_ns);
  f("busy_ns", cpu.cell.run.busy_ns);
  f("vtime_now", cpu.cell.run.vtime_now);
  f("moved_in", cpu.cell.seen.moved_in);
  f("moved_out", cpu.cell.seen.moved_out);
#define STEWARD_CPU_STAT(name, help) f(#name, cpu.cell.local.name);
#include "steward/stats.def"
}

// The same for the numbers of the machine as a whole.
template <typename Snapshot, typename F>
void VisitMachine(Snapshot& stats, F&& f) {
  f("time_ns", stats.time_ns);
  f("start_ns", stats.start_ns);
  f("timer_cpu", stats.steer.timer_cpu);
  f("armed_cpu", stats.steer.armed_cpu);
  f("pace", stats.steer.pace);
  f("waiting", stats.steer.waiting);
  f("last_pass_ns", stats.steer.last_pass_ns);
  f("passes", stats.balance.passes);
  f("pass_ns_last", stats.balance.pass_ns_last);
  f("pass_ns_max", stats.balance.pass_ns_max);
#define STEWARD_PASS_STAT(name, help) f(#name, stats.balance.name);
#include "steward/stats.def"
}

// The per-CPU counters, each summed over the machine.
steward_local SumOfCpus(const StatsSnapshot& stats);

// What happened between the two: counters become differences, states are those of `now`, time_ns
// is the length of the interval. A counter that fell has begun anew, with another load.
StatsSnapshot Difference(const StatsSnapshot& before, const StatsSnapshot& now);

// What there was when the scheduler of `now` was attached: nothing.
StatsSnapshot AtStart(const StatsSnapshot& now);

}  // namespace steward
