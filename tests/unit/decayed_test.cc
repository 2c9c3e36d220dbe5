// SPDX-License-Identifier: GPL-2.0-only
// The decaying load in one word of include/steward/pelt.h, against the sum of the loads in it.
#include "steward/pelt.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr uint64_t kPeriod = 1024 * 1024;      // ns, 1.049 ms
constexpr uint64_t kDay = 86400000000000;      // ns
constexpr uint64_t kWrap = uint64_t{1} << 54;  // ns until the index comes round, 208 days
constexpr uint64_t kLag = STEWARD_DECAYED_LAG_MAX * kPeriod;  // ns
constexpr uint32_t kOne = STEWARD_DECAYED_ONE;                // raw per unit of load
constexpr uint32_t kTask = 1024 * kOne;                       // raw, a task of nice 0
constexpr uint32_t kMost = STEWARD_DECAYED_VALUE_MAX;
// Raw units that a word is low by if it is moved on every period: below 1 each time, y of that the
// next time, and so on; 1 / (1 - y).
constexpr double kLow = 46.67;

double Y(double periods) { return std::exp2(-periods / 32); }

uint64_t PeriodOf(uint64_t word) { return word >> STEWARD_DECAYED_VALUE_BITS; }
uint32_t ValueOf(uint64_t word) { return word & kMost; }

TEST(Decayed, OneWordHoldsPeriodAndValue) {
  const uint64_t word = steward_decayed_pack(STEWARD_DECAYED_PERIOD_MAX, kMost);
  EXPECT_EQ(word, ~uint64_t{0});
  EXPECT_EQ(steward_decayed_pack(5, 7), (uint64_t{5} << 30) + 7);
  EXPECT_EQ(steward_decayed_pack(STEWARD_DECAYED_PERIOD_MAX + 1 + 5, 7), (uint64_t{5} << 30) + 7);
  EXPECT_EQ(steward_decayed_pack(5, uint64_t{1} << 40), (uint64_t{5} << 30) + kMost);
  EXPECT_EQ(steward_decayed_period(5 * kPeriod + kPeriod - 1), 5U);
  EXPECT_EQ(steward_decayed_period(kWrap + 5 * kPeriod), 5U);
}

TEST(Decayed, ReadsInUnitsRoundedDown) {
  const uint64_t word = steward_decayed_add(0, kDay, 3 * kOne + kOne - 1);
  EXPECT_EQ(steward_decayed_read(word, kDay), 3U);
  EXPECT_EQ(steward_decayed_read_raw(word, kDay), 3 * kOne + kOne - 1);
}

// By half in 32 periods, and between as the real curve, in one go or step by step.
TEST(Decayed, DecaysOnTheCurve) {
  const uint64_t word = steward_decayed_add(0, kDay, kTask);
  EXPECT_EQ(steward_decayed_read(word, kDay), 1024U);
  EXPECT_EQ(steward_decayed_read(word, kDay + 32 * kPeriod), 511U);
  uint64_t stepwise = word;
  for (uint64_t n = 1; n < 1000; n++) {
    const uint64_t now = kDay + n * kPeriod;
    const double exact = kTask * Y(static_cast<double>(n));
    ASSERT_LE(steward_decayed_read_raw(word, now), exact) << n;
    ASSERT_GT(steward_decayed_read_raw(word, now), exact - 2.25) << n;
    stepwise = steward_decayed_add(stepwise, now, 0);
    ASSERT_LE(ValueOf(stepwise), exact) << n;
    ASSERT_GT(ValueOf(stepwise), exact - kLow - 0.01) << n;
  }
  EXPECT_EQ(ValueOf(stepwise), 0U);
}

// Within a period nothing decays; what counts is the index, not the distance.
TEST(Decayed, DecaysAtThePeriodsEnd) {
  const uint64_t begin = kDay / kPeriod * kPeriod;
  const uint64_t word = steward_decayed_add(0, begin, kTask);
  EXPECT_EQ(steward_decayed_read_raw(word, begin + kPeriod - 1), kTask);
  EXPECT_EQ(steward_decayed_read_raw(word, begin + kPeriod), steward_pelt_decay(kTask, 1));
  EXPECT_EQ(steward_decayed_since(kTask, begin, begin + kPeriod - 1), kTask);
  EXPECT_LT(steward_decayed_since(kTask, begin + kPeriod - 1, begin + kPeriod), kTask);
}

TEST(Decayed, AddStopsAtTheMost) {
  uint64_t word = steward_decayed_add(0, kDay, kMost - 1);
  EXPECT_EQ(ValueOf(word), kMost - 1);
  word = steward_decayed_add(word, kDay, 5);
  EXPECT_EQ(ValueOf(word), kMost);
  word = steward_decayed_add(word, kDay, ~0U);
  EXPECT_EQ(ValueOf(word), kMost);
  EXPECT_EQ(PeriodOf(word), kDay / kPeriod);
  EXPECT_EQ(steward_decayed_read(word, kDay), (1U << 24) - 1);
}

TEST(Decayed, SubStopsAtZero) {
  const uint64_t word = steward_decayed_add(0, kDay, kTask);
  EXPECT_EQ(ValueOf(steward_decayed_sub(word, kDay, kTask - 1)), 1U);
  EXPECT_EQ(ValueOf(steward_decayed_sub(word, kDay, kTask)), 0U);
  EXPECT_EQ(ValueOf(steward_decayed_sub(word, kDay, kTask + 1)), 0U);
  EXPECT_EQ(ValueOf(steward_decayed_sub(word, kDay + kPeriod, kTask)), 0U);
  EXPECT_EQ(ValueOf(steward_decayed_sub(word, kDay, ~0U)), 0U);
  EXPECT_EQ(ValueOf(steward_decayed_sub(0, kDay, kTask)), 0U);
}

// A zero has no time: it takes that of the first load, also just before the index comes round.
TEST(Decayed, ZeroTakesAnyTime) {
  for (const uint64_t now : {uint64_t{0}, kDay, kWrap - kDay, kWrap - kPeriod, kWrap + kDay}) {
    const uint64_t word = steward_decayed_add(0, now, kTask);
    EXPECT_EQ(steward_decayed_read(word, now), 1024U) << now;
    EXPECT_EQ(PeriodOf(word), steward_decayed_period(now)) << now;
  }
}

// A clock that lags reads what is there; the word keeps its period, and what such a writer adds or
// takes is aged to that, so the order of writers does not matter.
TEST(Decayed, AnEarlierTimeDecaysNothing) {
  const uint64_t word = steward_decayed_add(0, kDay, kTask);
  for (const uint64_t lag : {uint64_t{1}, uint64_t{32}, uint64_t{33}, kLag / kPeriod}) {
    const uint64_t earlier = kDay - lag * kPeriod;
    EXPECT_EQ(steward_decayed_read(word, earlier), 1024U) << lag;
    EXPECT_EQ(steward_decayed_add(word, earlier, 0), word) << lag;
    EXPECT_EQ(steward_decayed_sub(word, earlier, 0), word) << lag;

    const uint64_t late = steward_decayed_add(word, earlier, kTask);
    const uint64_t in_order =
        steward_decayed_add(steward_decayed_add(0, earlier, kTask), kDay, kTask);
    EXPECT_EQ(PeriodOf(late), PeriodOf(word)) << lag;
    EXPECT_NEAR(ValueOf(late), ValueOf(in_order), 3) << lag;
    EXPECT_EQ(steward_decayed_sub(late, earlier, kTask), word) << lag;
  }
  EXPECT_EQ(steward_decayed_since(kTask, kDay, kDay - kPeriod), kTask);
}

// Forward and backward, the difference of indices is right where they come round.
TEST(Decayed, IndexComesRound) {
  for (const uint64_t before : {uint64_t{1}, uint64_t{5}, uint64_t{40}}) {
    for (const uint64_t after : {uint64_t{0}, uint64_t{3}, uint64_t{64}}) {
      const uint64_t then = kWrap - before * kPeriod, now = kWrap + after * kPeriod;
      const uint64_t word = steward_decayed_add(0, then, kTask);
      EXPECT_EQ(steward_decayed_read_raw(word, now), steward_pelt_decay(kTask, before + after));
      const uint64_t moved = steward_decayed_add(word, now, 0);
      EXPECT_EQ(PeriodOf(moved), after);
      EXPECT_EQ(steward_decayed_add(moved, then, 0), moved);  // lags across the end
      EXPECT_NEAR(steward_decayed_since(kTask, then, now), ValueOf(moved), 3);
      EXPECT_EQ(ValueOf(steward_decayed_sub(word, now, steward_decayed_since(kTask, then, now))),
                0U);
    }
  }
}

// A word nobody writes reads as zero until the index has nearly come round. Then it looks like one
// from a CPU that is ahead, and after that like a young one.
TEST(Decayed, LongGapsReadAsZero) {
  const uint64_t word = steward_decayed_add(0, kDay, kTask);
  for (const uint64_t gap : {2017 * kPeriod, kDay, kWrap / 2 - kPeriod, kWrap / 2,
                             kWrap / 2 + kPeriod, 200 * kDay, kWrap - kLag - kPeriod}) {
    EXPECT_EQ(steward_decayed_read_raw(word, kDay + gap), 0U) << gap;
    const uint64_t added = steward_decayed_add(word, kDay + gap, kOne);
    EXPECT_EQ(steward_decayed_read(added, kDay + gap), 1U) << gap;
    EXPECT_EQ(steward_decayed_since(kTask, kDay, kDay + gap), 0U) << gap;
  }
  EXPECT_EQ(steward_decayed_read(word, kDay + kWrap - kLag), 1024U);
  EXPECT_EQ(steward_decayed_read(word, kDay + kWrap + 32 * kPeriod), 511U);
}

// To half a unit, and what the table's rounding makes of a great load, for any time.
TEST(Decayed, SinceRoundsToNearest) {
  std::mt19937 random(3);
  for (int i = 0; i < 200000; i++) {
    const auto load = static_cast<uint32_t>((random() >> 2) >> (random() % 30));
    const uint64_t then = kDay + random();
    const uint64_t now = then + random() % ((32 << (random() % 7)) * kPeriod);
    const double periods = static_cast<double>(now / kPeriod - then / kPeriod);
    ASSERT_NEAR(steward_decayed_since(load, then, now), load * Y(periods),
                0.5 + load / 2147483648.0)
        << load << " after " << periods;
  }
  EXPECT_EQ(steward_decayed_since(~0U, kDay, kDay), kMost);
  EXPECT_EQ(steward_decayed_since(~0U, 0, 1023 * kPeriod), 0U);
  EXPECT_EQ(steward_decayed_since(~0U, 0, 1025 * kPeriod), 0U);
  EXPECT_EQ(steward_decayed_since(~0U, 0, ~uint64_t{0}), 0U);
}

struct Load {
  uint32_t raw;
  uint64_t then;
};

// Loads of random size that come to a word and leave it at random times, from 30 periods apart to
// 100 in a period, under clocks that lag each other by up to `lag` ns.
class Churn {
 public:
  Churn(unsigned seed, uint64_t lag) : random_(seed), pace_(seed % 12), lag_(lag) {}

  void Advance() { now_ += random_() % (32 * kPeriod >> pace_); }

  void Add() {
    const auto raw = static_cast<uint32_t>(kOne / 2 + random_() % (4 * kTask));
    const Load load = {raw, Clock()};
    word_ = steward_decayed_add(word_, load.then, load.raw);
    loads_.push_back(load);
  }

  void Remove() {
    std::swap(loads_[random_() % loads_.size()], loads_.back());
    const Load load = loads_.back();
    loads_.pop_back();
    const uint64_t now = std::max(Clock(), load.then);
    word_ = steward_decayed_sub(word_, now, steward_decayed_since(load.raw, load.then, now));
  }

  bool NextGrows(size_t level) {
    return loads_.empty() || random_() % (2 * level) >= loads_.size();
  }

  // Raw units in the word above the sum of the loads that are in it.
  double Residue() const {
    double sum = 0;
    for (const Load& load : loads_)
      sum += load.raw *
             Y(static_cast<double>(PeriodOf(word_)) - static_cast<double>(load.then / kPeriod));
    return ValueOf(word_) - sum;
  }

  [[nodiscard]] size_t size() const { return loads_.size(); }
  [[nodiscard]] uint64_t word() const { return word_; }
  [[nodiscard]] uint64_t now() const { return now_; }

 private:
  uint64_t Clock() { return now_ - (lag_ ? random_() % lag_ : 0); }

  std::mt19937 random_;
  unsigned pace_;
  uint64_t lag_;
  uint64_t now_ = kDay;
  uint64_t word_ = 0;
  std::vector<Load> loads_;
};

// 10000 loads come and go, up to about 100 at a time. The word is never half a unit per load in it
// above their sum, nor that and its own rounding below. When the last has gone, it is less than a
// unit, which goes to zero.
void ExpectNoResidue(unsigned seed, uint64_t lag) {
  Churn churn(seed, lag);
  const size_t level = 1 + seed % 50;
  for (int i = 0; i < 20000; i++) {
    churn.Advance();
    if (churn.NextGrows(level)) {
      churn.Add();
    } else {
      churn.Remove();
    }
    const double allowed = 0.5 * kOne * static_cast<double>(std::max<size_t>(churn.size(), 1));
    ASSERT_LT(churn.Residue(), allowed) << i;
    ASSERT_GT(churn.Residue(), -allowed - kLow) << i;
  }
  while (churn.size()) churn.Remove();
  EXPECT_EQ(steward_decayed_read(churn.word(), churn.now()), 0U);
  EXPECT_EQ(steward_decayed_read_raw(churn.word(), churn.now() + 200 * kPeriod), 0U);
}

TEST(Decayed, ManyLoadsComeAndGoWithoutResidue) {
  for (unsigned seed = 1; seed <= 50; seed++) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_NO_FATAL_FAILURE(ExpectNoResidue(seed, 0));
  }
}

TEST(Decayed, NorUnderClocksThatLagEachOther) {
  for (unsigned seed = 1; seed <= 50; seed++) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_NO_FATAL_FAILURE(ExpectNoResidue(seed, 3 * kPeriod));
  }
}

// The same load again and again, each rounded the same way: the word is off by at most half a unit
// for each load that leaves it in a period, times the sum of y^n.
TEST(Decayed, EqualLoadsDoNotAddUpTheirRounding) {
  for (const uint32_t raw : {kTask, kTask + 21, kTask + 37}) {
    for (uint64_t stay = 1; stay < 40; stay++) {
      uint64_t word = 0;
      for (uint64_t n = 0; n < 500; n++) {
        const uint64_t now = kDay + n * kPeriod;
        word = steward_decayed_add(word, now, raw);
        if (n >= stay) {
          const uint64_t then = now - stay * kPeriod;
          word = steward_decayed_sub(word, now, steward_decayed_since(raw, then, now));
        }
      }
      const double exact = raw * (1 - Y(static_cast<double>(stay))) / (1 - Y(1));
      ASSERT_LE(ValueOf(word), exact + kLow / 2) << raw << ", " << stay;
      ASSERT_GE(ValueOf(word), exact - kLow / 2 - kLow) << raw << ", " << stay;
    }
  }
}

}  // namespace
