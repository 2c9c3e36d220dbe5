// SPDX-License-Identifier: GPL-2.0-only
// The watch over CPUs that do not serve their queues: when one balks, and when it is tried again.
#include "steward/watch.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace {

// One CPU's record, looked at every 4 ms with slices of 5 ms.
class Service {
 public:
  static constexpr __u64 kSlice = 5000000;
  static constexpr __u64 kLook = 4000000;
  static constexpr __u64 kPatience =
      std::max<__u64>(STEWARD_BALK_SLICES * kSlice, STEWARD_BALK_MIN_NS);

  // Looks until `ns` have passed; returns whether the CPU balks then.
  bool Wait(__u64 ns, __u32 queued, __u64 ran_each_look = 0) {
    for (const __u64 end = now_ + ns; now_ < end;) {
      now_ += kLook;
      busy_ += ran_each_look;
      seen_.nr_queued = queued;
      steward_watch_service(&seen_, busy_, kSlice, now_);
    }
    return seen_.balks != 0;
  }

 private:
  steward_seen seen_ = {};
  __u64 now_ = 1000000000;
  __u64 busy_ = 0;
};

// A CPU with waiting tasks of which none runs is given up after four slices, not
// sooner, and even if its tasks are taken away meanwhile.
TEST(Watch, CpuThatRunsNothingBalks) {
  Service cpu;
  cpu.Wait(Service::kLook, 1);
  EXPECT_FALSE(cpu.Wait(Service::kPatience - Service::kLook, 1));
  EXPECT_TRUE(cpu.Wait(2 * Service::kLook, 1));
  EXPECT_TRUE(cpu.Wait(Service::kPatience, 0));
}

// Waiting counts from when the queue was last empty.
TEST(Watch, EmptyQueueIsServed) {
  Service cpu;
  EXPECT_FALSE(cpu.Wait(10 * Service::kPatience, 0));
  EXPECT_FALSE(cpu.Wait(Service::kPatience - Service::kLook, 1));
  EXPECT_FALSE(cpu.Wait(Service::kLook, 0));
  EXPECT_FALSE(cpu.Wait(Service::kPatience - Service::kLook, 1));
}

// A CPU that runs anything serves, however long its queue is; so does one that
// ran nothing for a while and then did.
TEST(Watch, CpuThatRunsServes) {
  Service cpu;
  EXPECT_FALSE(cpu.Wait(10 * Service::kPatience, 40, 1));
  EXPECT_TRUE(cpu.Wait(2 * Service::kPatience, 40));
  EXPECT_FALSE(cpu.Wait(Service::kLook, 40, 1));
}

// One that balked and has nothing left is tried again after the retry time.
TEST(Watch, BalkEnds) {
  Service cpu;
  EXPECT_TRUE(cpu.Wait(2 * Service::kPatience, 1));
  EXPECT_TRUE(cpu.Wait(STEWARD_BALK_RETRY_NS / 2, 0));
  EXPECT_FALSE(cpu.Wait(STEWARD_BALK_RETRY_NS, 0));
}

// Short slices do not make the watch hasty.
TEST(Watch, PatienceHasAFloor) {
  steward_seen seen = {};
  seen.nr_queued = 1;
  seen.served_ns = 1000;
  steward_watch_service(&seen, 0, 500000, seen.served_ns + STEWARD_BALK_MIN_NS);
  EXPECT_EQ(seen.balks, 0u);
  steward_watch_service(&seen, 0, 500000, seen.served_ns + STEWARD_BALK_MIN_NS + 1);
  EXPECT_EQ(seen.balks, 1u);
}

}  // namespace
