// SPDX-License-Identifier: GPL-2.0-only
#include "loader/stats.h"

#include <gtest/gtest.h>

namespace steward {
namespace {

CpuStats Cpu(uint32_t id, uint64_t busy_ns, uint64_t kicks, uint32_t queued) {
  CpuStats cpu;
  cpu.cpu = id;
  cpu.cell.run.busy_ns = busy_ns;
  cpu.cell.local.kicks = kicks;
  cpu.cell.seen.nr_queued = queued;
  return cpu;
}

StatsSnapshot Snapshot(uint64_t time_ns, uint64_t passes) {
  StatsSnapshot stats;
  stats.time_ns = time_ns;
  stats.balance.passes = passes;
  stats.balance.timer_passes = passes / 2;
  stats.steer.waiting = 7;
  return stats;
}

// Counters become differences; states, such as queues, stay those of now.
TEST(Stats, DifferenceOfCountersAndStates) {
  StatsSnapshot before = Snapshot(1000, 10);
  before.cpus = {Cpu(0, 100, 5, 9), Cpu(2, 200, 6, 9)};
  StatsSnapshot now = Snapshot(4000, 16);
  now.cpus = {Cpu(0, 400, 8, 1), Cpu(2, 200, 7, 2)};
  now.steer.waiting = 3;

  const StatsSnapshot change = Difference(before, now);
  EXPECT_EQ(change.time_ns, 3000U);
  EXPECT_EQ(change.balance.passes, 6U);
  EXPECT_EQ(change.balance.timer_passes, 3U);
  EXPECT_EQ(change.steer.waiting, 3U);
  ASSERT_EQ(change.cpus.size(), 2U);
  EXPECT_EQ(change.cpus[0].cell.run.busy_ns, 300U);
  EXPECT_EQ(change.cpus[0].cell.seen.nr_queued, 1U);
  EXPECT_EQ(change.cpus[1].cell.run.busy_ns, 0U);
  EXPECT_EQ(change.cpus[1].cell.local.kicks, 1U);
}

// The counters of another load began at zero: what they show is what is new.
TEST(Stats, CounterThatFellBeganAnew) {
  StatsSnapshot before = Snapshot(1000, 50);
  before.cpus = {Cpu(0, 900, 50, 0)};
  StatsSnapshot now = Snapshot(2000, 4);
  now.cpus = {Cpu(0, 30, 2, 0)};
  const StatsSnapshot change = Difference(before, now);
  EXPECT_EQ(change.balance.passes, 4U);
  EXPECT_EQ(change.cpus[0].cell.run.busy_ns, 30U);
  EXPECT_EQ(change.cpus[0].cell.local.kicks, 2U);
}

// A CPU that was not there before counts from zero, and so does everything since the start.
TEST(Stats, NewCpuAndSinceStart) {
  StatsSnapshot now = Snapshot(5000, 9);
  now.start_ns = 2000;
  now.cpus = {Cpu(1, 70, 3, 0)};
  const StatsSnapshot change = Difference(AtStart(now), now);
  EXPECT_EQ(change.time_ns, 3000U);
  EXPECT_EQ(change.balance.passes, 9U);
  EXPECT_EQ(change.cpus[0].cell.run.busy_ns, 70U);
}

// Every per-CPU counter of the list is summed.
TEST(Stats, SumsEveryCounterOfTheList) {
  StatsSnapshot stats;
  stats.cpus.resize(3);
  for (CpuStats& cpu : stats.cpus) {
#define STEWARD_CPU_STAT(name, help) cpu.cell.local.name = 2;
#include "steward/stats.def"
  }
  const steward_local sum = SumOfCpus(stats);
#define STEWARD_CPU_STAT(name, help) EXPECT_EQ(sum.name, 6U) << #name;
#include "steward/stats.def"
}

// Every counter of both lists takes part in the difference.
TEST(Stats, DifferenceCoversEveryCounterOfTheList) {
  StatsSnapshot before;
  before.cpus.resize(1);
  StatsSnapshot now = before;
#define STEWARD_CPU_STAT(name, help)   \
  before.cpus[0].cell.local.name = 10; \
  now.cpus[0].cell.local.name = 13;
#define STEWARD_PASS_STAT(name, help) \
  before.balance.name = 10;           \
  now.balance.name = 13;
#include "steward/stats.def"
  const StatsSnapshot change = Difference(before, now);
#define STEWARD_CPU_STAT(name, help) EXPECT_EQ(change.cpus[0].cell.local.name, 3U) << #name;
#define STEWARD_PASS_STAT(name, help) EXPECT_EQ(change.balance.name, 3U) << #name;
#include "steward/stats.def"
}

}  // namespace
}  // namespace steward
