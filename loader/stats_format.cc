// SPDX-License-Identifier: GPL-2.0-only
#include "loader/stats_format.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace steward {
namespace {

// With more CPUs than this, one line cannot show each.
constexpr size_t kCpusInLine = 16;

const char* PaceName(uint32_t pace) {
  switch (pace) {
    case STEWARD_PACE_PARKED:
      return "parked";
    case STEWARD_PACE_SLOW:
      return "slow";
    case STEWARD_PACE_FAST:
      return "fast";
    default:
      return "unknown";
  }
}

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// The share of the interval in which the CPU ran tasks, in percent. A long-running task is charged
// when it stops, so one interval may show less and the next one more: capped.
int BusyPercent(const CpuStats& cpu, uint64_t interval_ns) {
  if (interval_ns == 0) return 0;
  const uint64_t percent = cpu.cell.run.busy_ns * 100 / interval_ns;
  return static_cast<int>(std::min<uint64_t>(percent, 100));
}

// Busy share, then the queue if any: "0:97%+2"; "-" for an offline CPU.
std::string FormatEachCpu(const StatsSnapshot& change) {
  return absl::StrJoin(change.cpus, " ", [&](std::string* out, const CpuStats& cpu) {
    absl::StrAppend(out, cpu.cpu, ":");
    if (cpu.cell.seen.online == 0) {
      absl::StrAppend(out, "-");
      return;
    }
    absl::StrAppend(out, BusyPercent(cpu, change.time_ns), "%");
    if (cpu.cell.seen.nr_queued > 0) absl::StrAppend(out, "+", cpu.cell.seen.nr_queued);
  });
}

std::string FormatCpuSummary(const StatsSnapshot& change) {
  int online = 0;
  int idle = 0;
  int queued = 0;
  int busy_percent = 0;
  const CpuStats* longest = nullptr;
  for (const CpuStats& cpu : change.cpus) {
    if (cpu.cell.seen.online == 0) continue;
    online++;
    busy_percent += BusyPercent(cpu, change.time_ns);
    if (cpu.cell.seen.idle != 0) idle++;
    if (cpu.cell.seen.nr_queued == 0) continue;
    queued++;
    if (longest == nullptr || cpu.cell.seen.nr_queued > longest->cell.seen.nr_queued) {
      longest = &cpu;
    }
  }
  std::string text = absl::StrFormat("%d online %d%% busy, %d idle, %d with a queue", online,
                                     online > 0 ? busy_percent / online : 0, idle, queued);
  if (longest != nullptr) {
    absl::StrAppendFormat(&text, ", longest %d:+%d", longest->cpu, longest->cell.seen.nr_queued);
  }
  return text;
}

}  // namespace

std::string FormatStatsLine(const StatsSnapshot& change) {
  const steward_balance& b = change.balance;
  const uint64_t moved = b.moved_llc + b.moved_node + b.moved_machine + b.moved_offline;
  const double mean_ns =
      b.passes > 0 ? static_cast<double>(b.pass_ns_sum) / static_cast<double>(b.passes) : 0;
  return absl::StrFormat(
      "timer cpu%d %s | passes %d (%d timer, %d summoned) %.1fus mean %.1fus max | "
      "moved %d (%d llc, %d node, %d machine, %d offline) | waiting %d | cpus %s",
      change.steer.timer_cpu, PaceName(change.steer.pace), b.passes, b.timer_passes,
      b.summoned_passes, mean_ns / 1000, Microseconds(b.pass_ns_max), moved, b.moved_llc,
      b.moved_node, b.moved_machine, b.moved_offline, change.steer.waiting,
      change.cpus.size() <= kCpusInLine ? FormatEachCpu(change) : FormatCpuSummary(change));
}

std::string FormatStatsHelp() {
  std::string text = "Counters of the balance pass, one for the machine:\n";
#define STEWARD_PASS_STAT(name, help) \
  absl::StrAppendFormat(&text, "  %-16s (u64): %s\n", #name, help);
#include "steward/stats.def"
  absl::StrAppend(&text, "\nCounters per CPU, also shown as sums:\n");
#define STEWARD_CPU_STAT(name, help) \
  absl::StrAppendFormat(&text, "  %-16s (u64): %s\n", #name, help);
#include "steward/stats.def"
  return text;
}

}  // namespace steward
