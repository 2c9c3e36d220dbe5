// SPDX-License-Identifier: GPL-2.0-only
#include "loader/stats_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace steward {
namespace {

using ::testing::HasSubstr;

// Every number different, so that a mix-up shows.
StatsSnapshot Filled() {
  StatsSnapshot stats;
  stats.cpus.resize(2);
  uint32_t next = 1;
  const auto fill = [&](const char* /*name*/, auto& value) {
    value = static_cast<std::decay_t<decltype(value)>>(next++);
  };
  VisitMachine(stats, fill);
  for (CpuStats& cpu : stats.cpus) VisitCpu(cpu, fill);
  return stats;
}

// What is written can be read, without loss.
TEST(StatsJson, RoundTrip) {
  const StatsSnapshot stats = Filled();
  const nlohmann::ordered_json json = StatsToJson(stats);
  const auto back = StatsFromJson(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(StatsToJson(*back), json);
  EXPECT_EQ(back->balance.pass_ns_sum, stats.balance.pass_ns_sum);
  EXPECT_EQ(back->cpus[1].cell.local.summons, stats.cpus[1].cell.local.summons);
}

// The promised names: what tests, tools and users rely on.
TEST(StatsJson, PromisedNames) {
  const nlohmann::ordered_json json = StatsToJson(Filled());
  for (const char* const name :
       {"timer_cpu", "passes", "timer_passes", "summoned_passes", "summons", "kicks"}) {
    EXPECT_TRUE(json[name].is_number()) << name;
  }
  for (const char* const name : {"llc", "node", "machine", "offline"}) {
    EXPECT_TRUE(json["moved"][name].is_number()) << name;
  }
  for (const char* const name : {"last", "max", "sum"}) {
    EXPECT_TRUE(json["pass_ns"][name].is_number()) << name;
  }
  for (const char* const name :
       {"cpu", "online", "balance_passes", "nr_queued", "idle", "idle_while_queued_ns", "busy_ns",
        "kicks", "summons", "moved_in", "moved_out", "vtime_now"}) {
    EXPECT_TRUE(json["cpus"][0][name].is_number()) << name;
  }
}

// Per-CPU counters appear summed beside the CPUs.
TEST(StatsJson, SumsOfCpus) {
  StatsSnapshot stats;
  stats.cpus.resize(3);
  for (CpuStats& cpu : stats.cpus) cpu.cell.local.kicks = 5;
  EXPECT_EQ(StatsToJson(stats)["kicks"], 15);
}

// The largest numbers survive: JSON of nlohmann keeps 64 bits.
TEST(StatsJson, LargeNumbers) {
  StatsSnapshot stats;
  stats.balance.pass_ns_sum = ~0ULL;
  stats.steer.timer_cpu = -1;
  const auto back = StatsFromJson(nlohmann::ordered_json::parse(StatsToJson(stats).dump()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->balance.pass_ns_sum, ~0ULL);
  EXPECT_EQ(back->steer.timer_cpu, -1);
}

// An answer of another version or another program is refused, with the first thing it lacks.
TEST(StatsJson, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(StatsFromJson(nlohmann::ordered_json::array()).ok());
  EXPECT_FALSE(StatsFromJson({{"cpus", 1}}).ok());
  nlohmann::ordered_json json = StatsToJson(Filled());
  json.erase("summoned_passes");
  EXPECT_THAT(std::string(StatsFromJson(json).status().message()), HasSubstr("summoned_passes"));
  json = StatsToJson(Filled());
  json["cpus"][1]["kicks"] = "many";
  EXPECT_THAT(std::string(StatsFromJson(json).status().message()), HasSubstr("kicks"));
}

// The schema explains every counter.
TEST(StatsJson, Schema) {
  const std::string schema = StatsSchema().dump();
#define STEWARD_CPU_STAT(name, help) EXPECT_THAT(schema, HasSubstr("\"" #name "\""));
#define STEWARD_PASS_STAT(name, help) EXPECT_THAT(schema, HasSubstr("\"" #name "\""));
#include "steward/stats.def"
}

}  // namespace
}  // namespace steward
