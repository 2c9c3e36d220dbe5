// SPDX-License-Identifier: GPL-2.0-only
#include "loader/stats_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steward {
namespace {

using ::testing::HasSubstr;

CpuStats Cpu(uint32_t id, bool online, bool idle, uint64_t busy_ns, uint32_t queued) {
  CpuStats cpu;
  cpu.cpu = id;
  cpu.cell.seen.online = online ? 1 : 0;
  cpu.cell.seen.idle = idle ? 1 : 0;
  cpu.cell.seen.nr_queued = queued;
  cpu.cell.run.busy_ns = busy_ns;
  return cpu;
}

// One second with ten passes.
StatsSnapshot Second() {
  StatsSnapshot change;
  change.time_ns = 1000000000;
  change.steer.timer_cpu = 2;
  change.steer.pace = STEWARD_PACE_FAST;
  change.steer.waiting = 3;
  change.balance.passes = 10;
  change.balance.timer_passes = 6;
  change.balance.summoned_passes = 4;
  change.balance.pass_ns_sum = 25000;
  change.balance.pass_ns_max = 9400;
  change.balance.moved_llc = 5;
  change.balance.moved_node = 2;
  change.balance.moved_machine = 1;
  return change;
}

// The line of a small machine shows each CPU: busy share, queue, offline.
TEST(StatsFormat, LineOfASmallMachine) {
  StatsSnapshot change = Second();
  change.cpus = {Cpu(0, true, false, 970000000, 2), Cpu(1, true, true, 0, 0),
                 Cpu(2, true, false, 2000000000, 1), Cpu(3, false, false, 0, 0)};
  EXPECT_EQ(FormatStatsLine(change),
            "timer cpu2 fast | passes 10 (6 timer, 4 summoned) 2.5us mean 9.4us max | "
            "moved 8 (5 llc, 2 node, 1 machine, 0 offline) | waiting 3 | "
            "cpus 0:97%+2 1:0% 2:100%+1 3:-");
}

// The line of a large machine sums up and names the longest queue.
TEST(StatsFormat, LineOfALargeMachine) {
  StatsSnapshot change = Second();
  for (uint32_t id = 0; id < 64; id++) {
    change.cpus.push_back(Cpu(id, id < 60, id >= 30, id < 30 ? 1000000000 : 0, id == 17 ? 4 : 0));
  }
  EXPECT_THAT(FormatStatsLine(change),
              HasSubstr("cpus 60 online 50% busy, 30 idle, 1 with a queue, longest 17:+4"));
}

// Nothing happened: no division by zero, and it says so.
TEST(StatsFormat, EmptyInterval) {
  StatsSnapshot change;
  change.cpus = {Cpu(0, true, true, 0, 0)};
  EXPECT_EQ(FormatStatsLine(change),
            "timer cpu0 parked | passes 0 (0 timer, 0 summoned) 0.0us mean 0.0us max | "
            "moved 0 (0 llc, 0 node, 0 machine, 0 offline) | waiting 0 | cpus 0:0%");
}

// Large machine, all offline but in name: no division by zero either.
TEST(StatsFormat, NoCpuOnline) {
  StatsSnapshot change;
  change.cpus.resize(40);
  EXPECT_THAT(FormatStatsLine(change), HasSubstr("cpus 0 online 0% busy, 0 idle, 0 with a queue"));
}

// A pace of a newer BPF object does not end in nonsense.
TEST(StatsFormat, UnknownPace) {
  StatsSnapshot change;
  change.steer.pace = 77;
  EXPECT_THAT(FormatStatsLine(change), HasSubstr("timer cpu0 unknown"));
}

// --help-stats explains every counter of the list.
TEST(StatsFormat, HelpHasEveryCounter) {
  const std::string help = FormatStatsHelp();
#define STEWARD_CPU_STAT(name, text) EXPECT_THAT(help, HasSubstr(": " text "\n")) << #name;
#define STEWARD_PASS_STAT(name, text) EXPECT_THAT(help, HasSubstr(": " text "\n")) << #name;
#include "steward/stats.def"
}

}  // namespace
}  // namespace steward
