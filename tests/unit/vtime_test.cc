// SPDX-License-Identifier: GPL-2.0-only
#include "steward/vtime.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

constexpr uint64_t kSlice = 5000000;
constexpr uint64_t kLongest = kSlice + STEWARD_OVERRUN_NS;
constexpr uint64_t kNearWrap = ~uint64_t{0} - 1000;

// Nice 0 ages in real time; twice the weight ages half as fast, a hundredth a hundred times faster.
TEST(Vtime, CostFollowsTheWeight) {
  EXPECT_EQ(steward_vtime_cost(1000000, STEWARD_WEIGHT_DFL), 1000000U);
  EXPECT_EQ(steward_vtime_cost(1000000, 200), 500000U);
  EXPECT_EQ(steward_vtime_cost(1000000, 1), 100000000U);
  EXPECT_EQ(steward_vtime_cost(1000000, 10000), 10000U);
}

// A weight that has not been set yet counts as nice 0, and nothing divides by zero.
TEST(Vtime, CostOfWeightZero) { EXPECT_EQ(steward_vtime_cost(42, 0), 42U); }

// The longest run the watchdog allows does not overflow at the least weight.
TEST(Vtime, CostOfALongRun) {
  EXPECT_EQ(steward_vtime_cost(uint64_t{30} * 1000000000, 1), uint64_t{3000} * 1000000000);
}

// Order is by signed difference, also where the clock wraps around.
TEST(Vtime, BeforeAcrossTheWrap) {
  EXPECT_TRUE(steward_vtime_before(1, 2));
  EXPECT_FALSE(steward_vtime_before(2, 2));
  EXPECT_TRUE(steward_vtime_before(kNearWrap, kNearWrap + 2000));
  EXPECT_FALSE(steward_vtime_before(kNearWrap + 2000, kNearWrap));
}

// A sleeper is owed at most one slice.
TEST(Vtime, ClampOfASleeper) {
  const uint64_t now = 100 * kSlice;
  EXPECT_EQ(steward_vtime_clamp(0, now, kSlice, 100), now - kSlice);
  EXPECT_EQ(steward_vtime_clamp(now - kSlice / 2, now, kSlice, 100), now - kSlice / 2);
}

// Nobody is further ahead than one slice and its overrun, at its own weight.
TEST(Vtime, ClampOfAStaleKey) {
  const uint64_t now = 100 * kSlice;
  EXPECT_EQ(steward_vtime_clamp(now * 10, now, kSlice, 100), now + kLongest);
  EXPECT_EQ(steward_vtime_clamp(now * 10, now, kSlice, 50), now + 2 * kLongest);
  EXPECT_EQ(steward_vtime_clamp(now + 1, now, kSlice, 100), now + 1);
}

// The clamps hold where the clock wraps around.
TEST(Vtime, ClampAcrossTheWrap) {
  const uint64_t now = 10;  // just wrapped
  EXPECT_EQ(steward_vtime_clamp(now - 2 * kSlice, now, kSlice, 100), now - kSlice);
  EXPECT_EQ(steward_vtime_clamp(now - 5, now, kSlice, 100), now - 5);
  EXPECT_EQ(steward_vtime_clamp(kNearWrap + kSlice * 3, kNearWrap, kSlice, 100),
            kNearWrap + kLongest);
}

// What a slice that ended a tick late cost is kept, whatever the weight.
TEST(Vtime, ClampKeepsTheChargeOfASlice) {
  for (const uint32_t weight : {1U, 33U, 100U, 10000U}) {
    const uint64_t charged = 7 * kSlice + steward_vtime_cost(kSlice + 10000000, weight);
    EXPECT_EQ(steward_vtime_clamp(charged, 7 * kSlice, kSlice, weight), charged) << weight;
  }
}

// What a task was ahead or behind on one CPU, it is on the next; there and back is the identity.
TEST(Vtime, Rebase) {
  EXPECT_EQ(steward_vtime_rebase(1500, 1000, 70000), 70500U);
  EXPECT_EQ(steward_vtime_rebase(500, 1000, 70000), 69500U);
  const uint64_t there = steward_vtime_rebase(5, 1000, kNearWrap);
  EXPECT_EQ(steward_vtime_rebase(there, kNearWrap, 1000), 5U);
}

}  // namespace
