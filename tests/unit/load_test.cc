// SPDX-License-Identifier: GPL-2.0-only
// Load of running tasks, and the ring of sleepers that left a CPU.
#include "steward/load.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr uint64_t kPeriodNs = uint64_t{1} << STEWARD_PELT_PERIOD_SHIFT;
constexpr uint64_t kHalfLifeNs = 32 * kPeriodNs;
constexpr uint32_t kFullRaw = 1024 * STEWARD_DECAYED_ONE;

uint64_t At(uint64_t now_ns, uint32_t raw) {
  return steward_decayed_pack(steward_decayed_period(now_ns), raw);
}

// 1024 units are one task of nice 0 that is always runnable; the extremes fit.
TEST(Load, RawFollowsWeightAndShare) {
  EXPECT_EQ(steward_load_raw(100, 1024), kFullRaw);
  EXPECT_EQ(steward_load_raw(100, 512), kFullRaw / 2);
  EXPECT_EQ(steward_load_raw(33, 1024), kFullRaw * 33 / 100);
  EXPECT_EQ(steward_load_raw(1, 0), 0U);
  EXPECT_EQ(steward_load_raw(10000, 1024), 100 * kFullRaw);
  EXPECT_LT(steward_load_raw(10000, 1024), 1U << STEWARD_RING_RAW_BITS);
}

// What a running task is short of full halves every half-life.
TEST(Load, RunningTaskGrowsToFull) {
  const uint64_t start = 100 * kHalfLifeNs;
  const uint64_t word = At(start, kFullRaw / 4);
  EXPECT_EQ(steward_load_running(word, 100, start), kFullRaw / 4);
  EXPECT_NEAR(steward_load_running(word, 100, start + kHalfLifeNs), kFullRaw * 5 / 8, 2);
  EXPECT_NEAR(steward_load_running(word, 100, start + 2 * kHalfLifeNs), kFullRaw * 13 / 16, 2);
  EXPECT_EQ(steward_load_running(word, 100, start + 100 * kHalfLifeNs), kFullRaw);
}

// No task, no load, whatever the word still says; one above full stays there.
TEST(Load, RunningTaskAtTheEdges) {
  const uint64_t start = 100 * kHalfLifeNs;
  EXPECT_EQ(steward_load_running(At(start, kFullRaw), 0, start), 0U);
  EXPECT_EQ(steward_load_running(At(start, kFullRaw + 5), 100, start), kFullRaw);
}

// The same for the share of time a CPU is busy; idle, it decays.
TEST(Load, UtilFollowsWhetherTheCpuRuns) {
  const uint64_t start = 100 * kHalfLifeNs;
  const uint64_t word = At(start, kFullRaw / 2);
  EXPECT_EQ(steward_util_at(word, true, start), 512U);
  EXPECT_NEAR(steward_util_at(word, true, start + kHalfLifeNs), 768, 1);
  EXPECT_NEAR(steward_util_at(word, false, start + kHalfLifeNs), 256, 1);
  EXPECT_EQ(steward_util_at(word, true, start + 100 * kHalfLifeNs), 1024U);
  EXPECT_EQ(steward_util_at(word, false, start + 100 * kHalfLifeNs), 0U);
}

// A reader with the pass's rules, and what it has seen.
struct Reader {
  uint64_t tail = 0;
  uint64_t lost = 0;
  std::vector<steward_removal> got;

  void Drain(const steward_ring& ring, uint64_t now_period) {
    const uint64_t head = steward_read(ring.head);
    const uint64_t gap = steward_ring_lost(head, tail);
    lost += gap;
    tail += gap;
    while (tail != head) {
      steward_removal removal = {};
      const uint64_t word = steward_read(ring.slots[steward_ring_slot(tail)]);
      if (!steward_ring_unpack(word, tail, now_period, &removal)) break;
      got.push_back(removal);
      tail++;
    }
  }
};

void Append(steward_ring& ring, uint32_t home, uint32_t raw, uint64_t period) {
  const steward_removal removal = {home, raw, period};
  steward_ring_append(&ring, &removal);
}

// Every field of a record arrives, at its extremes too, over many laps.
TEST(Ring, RecordsArriveInOrderOverManyLaps) {
  const auto ring = std::make_unique<steward_ring>();
  Reader reader;
  std::mt19937_64 random(1);
  uint64_t now = uint64_t{1} << 40;
  for (uint32_t n = 0; n < 5 * STEWARD_RING_SLOTS; n++) {
    const uint32_t home =
        n % 3 == 0 ? STEWARD_MAX_CPUS - 1 : static_cast<uint32_t>(random() % 1024);
    const uint32_t raw = n % 5 == 0 ? STEWARD_RING_RAW_MASK
                                    : static_cast<uint32_t>(random() & STEWARD_RING_RAW_MASK);
    now += random() % 3;
    Append(*ring, home, raw, now);
    reader.Drain(*ring, now + random() % 5);
    ASSERT_EQ(reader.got.size(), n + 1);
    EXPECT_EQ(reader.got.back().home, home);
    EXPECT_EQ(reader.got.back().raw, raw);
    EXPECT_EQ(reader.got.back().period, now);
  }
  EXPECT_EQ(reader.lost, 0U);
}

// A full ring loses nothing; one record more loses the older half, counted.
TEST(Ring, OverflowIsCounted) {
  const auto ring = std::make_unique<steward_ring>();
  Reader reader;
  for (uint32_t n = 0; n < STEWARD_RING_SLOTS; n++) Append(*ring, 1, n, 10);
  reader.Drain(*ring, 10);
  EXPECT_EQ(reader.got.size(), size_t{STEWARD_RING_SLOTS});
  EXPECT_EQ(reader.lost, 0U);
  for (uint32_t n = 0; n < STEWARD_RING_SLOTS + 1; n++) Append(*ring, 1, n, 10);
  reader.Drain(*ring, 10);
  EXPECT_EQ(reader.lost, uint64_t{STEWARD_RING_SLOTS / 2 + 1});
  EXPECT_EQ(reader.got.size(), size_t{STEWARD_RING_SLOTS + STEWARD_RING_SLOTS / 2});
  EXPECT_EQ(reader.got.back().raw, uint32_t{STEWARD_RING_SLOTS});
}

// A head that is seen before its record does not make the record of the last lap appear.
TEST(Ring, RecordThatIsNotThereYetIsWaitedFor) {
  const auto ring = std::make_unique<steward_ring>();
  Reader reader;
  ring->head = 1;
  reader.Drain(*ring, 10);
  EXPECT_TRUE(reader.got.empty());
  ring->head = 0;
  for (uint32_t n = 0; n < STEWARD_RING_SLOTS; n++) Append(*ring, 1, n, 10);
  reader.Drain(*ring, 10);
  ring->head++;
  reader.Drain(*ring, 10);
  EXPECT_EQ(reader.got.size(), size_t{STEWARD_RING_SLOTS});
  ring->head--;
  Append(*ring, 7, 8, 10);
  reader.Drain(*ring, 10);
  EXPECT_EQ(reader.got.back().home, 7U);
}

// The period of a record comes back whole, and one a little ahead counts as now.
TEST(Ring, PeriodIsRestored) {
  steward_removal removal = {5, 6, (uint64_t{3} << STEWARD_RING_PERIOD_BITS) - 1};
  const uint64_t word = steward_ring_pack(0, &removal);
  steward_removal got = {};
  ASSERT_TRUE(steward_ring_unpack(word, 0, removal.period + 4000, &got));
  EXPECT_EQ(got.period, removal.period);
  ASSERT_TRUE(steward_ring_unpack(word, 0, removal.period - 1, &got));
  EXPECT_EQ(got.period, removal.period - 1);
}

// Writer and reader on two threads: every record that was not counted as lost arrives once, whole.
TEST(Ring, ConcurrentReaderSeesWholeRecords) {
  constexpr uint32_t kRecords = 200000;
  const auto ring = std::make_unique<steward_ring>();
  std::atomic<bool> done = false;
  Reader reader;
  std::thread writer([&] {
    for (uint32_t n = 0; n < kRecords; n++) Append(*ring, n % 1024, n * 7 % 100000, n);
    done = true;
  });
  while (!done) reader.Drain(*ring, kRecords);
  writer.join();
  reader.Drain(*ring, kRecords);
  EXPECT_EQ(reader.got.size() + reader.lost, size_t{kRecords});
  for (const steward_removal& removal : reader.got) {
    ASSERT_EQ(removal.home, removal.period % 1024);
    ASSERT_EQ(removal.raw, removal.period * 7 % 100000);
  }
}

}  // namespace
