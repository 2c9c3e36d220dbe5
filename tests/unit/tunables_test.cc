// SPDX-License-Identifier: GPL-2.0-only
#include "loader/tunables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace steward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CpuLists FourCpusOneOffline() {
  CpuLists lists;
  lists.possible = {0, 1, 2, 3};
  lists.online = {0, 1, 3};
  return lists;
}

absl::Status Change(const std::map<std::string, std::string>& changes, steward_tunables& tunables) {
  return ApplyChanges(changes, FourCpusOneOffline(), tunables);
}

// The list itself: names once each, defaults within their limits and in order.
TEST(Tunables, TheListIsSound) {
  std::set<std::string> names;
  for (const Knob& knob : Knobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_LE(knob.min, knob.default_value) << knob.name;
    EXPECT_LE(knob.default_value, knob.max) << knob.name;
    EXPECT_STRNE(knob.why, "") << knob.name;
  }
  EXPECT_TRUE(CheckOrder(DefaultTunables()).ok());
}

// Limits belong to the range; one step beyond does not, and the sentence says the range.
TEST(Tunables, LimitsOfEveryKnob) {
  for (const Knob& knob : Knobs()) {
    steward_tunables t = DefaultTunables();
    EXPECT_TRUE(SetKnob(knob.name, absl::StrCat(knob.min), "x", {}, t).ok());
    EXPECT_EQ(t.*knob.field, knob.min);
    EXPECT_TRUE(SetKnob(knob.name, absl::StrCat(knob.max), "x", {}, t).ok());
    EXPECT_EQ(t.*knob.field, knob.max);
    const absl::Status above = SetKnob(knob.name, absl::StrCat(knob.max + 1), "x", {}, t);
    EXPECT_THAT(std::string(above.message()),
                AllOf(HasSubstr(absl::StrCat(knob.min)), HasSubstr(absl::StrCat(knob.max))));
    if (knob.min > 0) {
      EXPECT_FALSE(SetKnob(knob.name, absl::StrCat(knob.min - 1), "x", {}, t).ok());
    }
    EXPECT_EQ(t.*knob.field, knob.max) << "a refused value must leave the old one";
  }
}

// Only whole numbers are numbers.
TEST(Tunables, RefusesWhatIsNoNumber) {
  for (const char* const text :
       {"", "x", "5000us", "-1", "5e3", "0x1388", "99999999999999999999"}) {
    steward_tunables t = DefaultTunables();
    const absl::Status status = SetKnob("slice_us", text, "--slice-us", {}, t);
    EXPECT_THAT(std::string(status.message()), HasSubstr("--slice-us: '")) << text;
  }
}

// Numbers and "auto" choose the timer CPU; what is not online is refused with the online CPUs.
TEST(Tunables, TimerCpu) {
  steward_tunables t = DefaultTunables();
  EXPECT_TRUE(Change({{"timer_cpu", "3"}}, t).ok());
  EXPECT_EQ(t.timer_cpu, 3);
  for (const char* const text : {"2", "4", "-1", "x", "", "99999999999"}) {
    EXPECT_THAT(std::string(Change({{"timer_cpu", text}}, t).message()), HasSubstr("0-1,3"))
        << text;
    EXPECT_EQ(t.timer_cpu, 3);
  }
  EXPECT_TRUE(Change({{"timer_cpu", "auto"}}, t).ok());
  EXPECT_EQ(t.timer_cpu, STEWARD_NO_CPU);
}

// The sentence tells absent from offline.
TEST(Tunables, TimerCpuOfflineOrAbsent) {
  steward_tunables t = DefaultTunables();
  EXPECT_THAT(std::string(Change({{"timer_cpu", "2"}}, t).message()), HasSubstr("offline"));
  EXPECT_THAT(std::string(Change({{"timer_cpu", "4"}}, t).message()), HasSubstr("no CPU of this"));
}

// One bad value of several: none is applied.
TEST(Tunables, AllOrNone) {
  steward_tunables t = DefaultTunables();
  EXPECT_FALSE(Change({{"slice_us", "3000"}, {"pass_walk", "0"}}, t).ok());
  EXPECT_EQ(t.slice_us, DefaultTunables().slice_us);
}

// Periods are compared after all changes, so that a group may move together.
TEST(Tunables, PeriodsKeepTheirOrder) {
  steward_tunables t = DefaultTunables();
  EXPECT_THAT(std::string(Change({{"balance_fast_us", "50000"}}, t).message()),
              HasSubstr("balance_slow_us"));
  EXPECT_FALSE(Change({{"balance_slow_us", "1000"}}, t).ok());
  EXPECT_TRUE(Change({{"balance_fast_us", "50000"}, {"balance_slow_us", "60000"}}, t).ok());
  EXPECT_EQ(t.balance_fast_us, 50000U);
}

// A misspelt knob is answered with the names there are.
TEST(Tunables, UnknownKnobListsTheKnobs) {
  steward_tunables t = DefaultTunables();
  EXPECT_THAT(std::string(Change({{"slice", "1"}}, t).message()),
              AllOf(HasSubstr("'slice'"), HasSubstr("slice_us"), HasSubstr("timer_cpu")));
}

// Names of flags.
TEST(Tunables, KnobFlag) { EXPECT_EQ(KnobFlag("balance_fast_us"), "--balance-fast-us"); }

}  // namespace
}  // namespace steward
