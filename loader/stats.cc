// SPDX-License-Identifier: GPL-2.0-only
#include "loader/stats.h"

#include <algorithm>

namespace steward {
namespace {

template <typename T>
void Subtract(T before, T& now) {
  if (now >= before) now = static_cast<T>(now - before);
}

void SubtractCpu(const steward_cell& before, steward_cell& now) {
  Subtract(before.run.busy_ns, now.run.busy_ns);
  Subtract(before.seen.balance_passes, now.seen.balance_passes);
  Subtract(before.seen.idle_while_queued_ns, now.seen.idle_while_queued_ns);
  Subtract(before.seen.moved_in, now.seen.moved_in);
  Subtract(before.seen.moved_out, now.seen.moved_out);
#define STEWARD_CPU_STAT(name, help) Subtract(before.local.name, now.local.name);
#include "steward/stats.def"
}

}  // namespace

steward_local SumOfCpus(const StatsSnapshot& stats) {
  steward_local sum = {};
  for (const CpuStats& cpu : stats.cpus) {
#define STEWARD_CPU_STAT(name, help) sum.name += cpu.cell.local.name;
#include "steward/stats.def"
  }
  return sum;
}

StatsSnapshot Difference(const StatsSnapshot& before, const StatsSnapshot& now) {
  StatsSnapshot change = now;
  Subtract(before.time_ns, change.time_ns);
  Subtract(before.balance.passes, change.balance.passes);
#define STEWARD_PASS_STAT(name, help) Subtract(before.balance.name, change.balance.name);
#include "steward/stats.def"
  for (CpuStats& cpu : change.cpus) {
    const auto old =
        std::lower_bound(before.cpus.begin(), before.cpus.end(), cpu.cpu,
                         [](const CpuStats& stats, uint32_t id) { return stats.cpu < id; });
    if (old != before.cpus.end() && old->cpu == cpu.cpu) SubtractCpu(old->cell, cpu.cell);
  }
  return change;
}

StatsSnapshot AtStart(const StatsSnapshot& now) {
  StatsSnapshot start;
  start.time_ns = now.start_ns;
  return start;
}

}  // namespace steward
