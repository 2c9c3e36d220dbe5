// SPDX-License-Identifier: GPL-2.0-only
// The planner of include/steward/balance.h: whom it pairs, and that repeated
// passes come to rest.
#include "steward/balance.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

// A machine of `nr` CPUs in `llcs` caches, two caches a node, all online and idle.
class Machine {
 public:
  Machine(__u32 nr, __u32 llcs) : nr_(nr), cells_(STEWARD_MAX_CPUS), topo_(STEWARD_MAX_CPUS) {
    for (__u32 cpu = 0; cpu < nr; cpu++) {
      const __u32 llc = cpu * llcs / nr;
      topo_[cpu].llc = static_cast<__u16>(llc);
      topo_[cpu].node = static_cast<__u16>(llc / 2);
      seen(cpu).online = 1;
      seen(cpu).idle = 1;
    }
  }

  steward_seen& seen(__u32 cpu) { return cells_[cpu].seen; }
  __u32 Load(__u32 cpu) { return steward_load(&seen(cpu)); }

  // `queued` tasks wait on `cpu` behind one that runs, as in the last pass.
  void Busy(__u32 cpu, __u32 queued) {
    seen(cpu).idle = 0;
    seen(cpu).nr_queued = queued;
    seen(cpu).last_load = queued + 1;
  }

  __s32 Taker(__u32 start = 0) { return steward_pick_taker(cells_.data(), nr_, start); }
  __s32 Giver(__u32 taker, __u32 pct = 100) {
    return steward_pick_giver(cells_.data(), topo_.data(), nr_, taker, pct);
  }
  void Move(__u32 giver, __u32 taker) { steward_plan_moved(cells_.data(), giver, taker); }
  void Refuse(__u32 giver, __u32 taker) { steward_plan_refused(cells_.data(), giver, taker); }

  // Carries plans out until there is none; returns the number of moves.
  int RunPass(__u32 pct = 100) {
    int moves = 0;
    for (__u32 cpu = 0; cpu < nr_; cpu++) {
      seen(cpu).spent = 0;
      seen(cpu).last_load = Load(cpu);
    }
    for (int tries = 0; tries < 100000; tries++) {
      const __s32 taker = Taker();
      if (taker < 0) return moves;
      const __s32 giver = Giver(static_cast<__u32>(taker), pct);
      if (giver < 0) {
        seen(static_cast<__u32>(taker)).spent = 1;
        continue;
      }
      EXPECT_TRUE(seen(static_cast<__u32>(giver)).nr_queued > 0);
      EXPECT_TRUE(seen(static_cast<__u32>(taker)).online);
      Move(static_cast<__u32>(giver), static_cast<__u32>(taker));
      moves++;
    }
    ADD_FAILURE() << "the plan does not end";
    return moves;
  }

  std::vector<__u32> Loads(bool online_only = true) {
    std::vector<__u32> loads;
    for (__u32 cpu = 0; cpu < nr_; cpu++) {
      if (!online_only || seen(cpu).online) loads.push_back(Load(cpu));
    }
    return loads;
  }

 private:
  __u32 nr_;
  std::vector<steward_cell> cells_;
  std::vector<steward_cpu> topo_;
};

// An idle CPU takes from the CPU where a task waits.
TEST(Balance, IdleTakesFromQueue) {
  Machine machine(4, 1);
  machine.Busy(2, 1);
  const __s32 taker = machine.Taker();
  ASSERT_EQ(taker, 0);
  EXPECT_EQ(machine.Giver(0), 2);
}

// Where every CPU runs one task and nothing waits, nobody gives.
TEST(Balance, NothingQueuedNothingMoves) {
  Machine machine(4, 1);
  for (__u32 cpu = 0; cpu < 3; cpu++) machine.Busy(cpu, 0);
  EXPECT_EQ(machine.RunPass(), 0);
}

// A difference of one is even: moving would only swap it.
TEST(Balance, DifferenceOfOneIsEven) {
  Machine machine(2, 1);
  machine.Busy(0, 2);
  machine.Busy(1, 1);
  EXPECT_EQ(machine.RunPass(), 0);
}

// The nearest giver wins over a more loaded one further away.
TEST(Balance, NearestGiverFirst) {
  Machine machine(8, 4);
  machine.Busy(1, 1);  // same cache as the taker
  machine.Busy(2, 5);  // same node
  machine.Busy(7, 9);  // other node
  EXPECT_EQ(machine.Giver(0), 1);
  machine.Refuse(1, 0);
  EXPECT_EQ(machine.Giver(0), 2);
  machine.Refuse(2, 0);
  EXPECT_EQ(machine.Giver(0), 7);
}

// Among equally near givers the most loaded gives.
TEST(Balance, MostLoadedOfTheNearest) {
  Machine machine(4, 1);
  machine.Busy(1, 2);
  machine.Busy(2, 4);
  machine.Busy(3, 3);
  EXPECT_EQ(machine.Giver(0), 2);
}

// A giver that had nothing for one taker is still asked for another.
TEST(Balance, RefusalIsPerTaker) {
  Machine machine(4, 1);
  machine.Busy(3, 3);
  machine.Refuse(3, 0);
  EXPECT_EQ(machine.Giver(0), STEWARD_NO_CPU);
  EXPECT_EQ(machine.Giver(1), 3);
}

// An offline CPU never takes.
TEST(Balance, OfflineNeverTakes) {
  Machine machine(3, 1);
  machine.seen(0).online = 0;
  machine.Busy(1, 2);
  EXPECT_EQ(machine.Taker(), 2);
  machine.seen(2).online = 0;
  machine.seen(1).spent = 1;
  EXPECT_EQ(machine.Taker(), STEWARD_NO_CPU);
}

// Among equals the search begins where it is told, and wraps.
TEST(Balance, TakerSearchRotates) {
  Machine machine(4, 1);
  machine.Busy(3, 4);
  EXPECT_EQ(machine.Taker(1), 1);
  EXPECT_EQ(machine.Taker(3), 0);
}

// Random machines: tasks are conserved, offline CPUs untouched, and a few passes
// end even to within one, after which nothing moves.
TEST(Balance, RandomMachinesConvergeAndRest) {
  std::mt19937 random(20261201);
  for (int round = 0; round < 300; round++) {
    const __u32 nr = 1 + static_cast<__u32>(random() % 64);
    Machine machine(nr, 1 + static_cast<__u32>(random() % 8));
    for (__u32 cpu = 0; cpu < nr; cpu++) {
      if (random() % 3) machine.Busy(cpu, static_cast<__u32>(random() % 12));
      if (random() % 10 == 0) {
        machine.seen(cpu) = {};
        machine.seen(cpu).idle = 1;
      }
    }
    const auto before = machine.Loads();
    int passes = 0;
    while (machine.RunPass() && ++passes < 10) {
    }
    ASSERT_LT(passes, 10) << "round " << round;
    const auto after = machine.Loads();
    ASSERT_EQ(std::accumulate(before.begin(), before.end(), 0u),
              std::accumulate(after.begin(), after.end(), 0u));
    if (!after.empty()) {
      const auto [low, high] = std::minmax_element(after.begin(), after.end());
      ASSERT_LE(*high - *low, 1u) << "round " << round;
    }
    ASSERT_EQ(machine.RunPass(), 0) << "round " << round;
  }
}

// Between busy CPUs one look is not enough: a burst on the giver or a lull on the
// taker moves nothing.
TEST(Balance, BusyTakerWantsTwoLooks) {
  Machine machine(2, 1);
  machine.Busy(0, 0);
  machine.Busy(1, 6);
  machine.seen(1).last_load = 1;
  EXPECT_EQ(machine.Giver(0), STEWARD_NO_CPU);
  machine.seen(1).last_load = 7;
  EXPECT_EQ(machine.Giver(0), 1);
  machine.seen(0).last_load = 7;
  EXPECT_EQ(machine.Giver(0), STEWARD_NO_CPU);
}

// An idle CPU does not wait for a second look.
TEST(Balance, IdleTakerTakesAtOnce) {
  Machine machine(2, 1);
  machine.Busy(1, 1);
  machine.seen(0).last_load = 9;
  machine.seen(1).last_load = 0;
  EXPECT_EQ(machine.Giver(0), 1);
}

// The percentage only matters where it asks for more than the gap of two.
TEST(Balance, LoadNeeded) {
  EXPECT_EQ(steward_load_needed(0, 125), 2u);
  EXPECT_EQ(steward_load_needed(1, 125), 3u);
  EXPECT_EQ(steward_load_needed(8, 125), 10u);
  EXPECT_EQ(steward_load_needed(20, 125), 25u);
  EXPECT_EQ(steward_load_needed(21, 125), 27u);
  EXPECT_EQ(steward_load_needed(20, 100), 22u);
}

// Long queues that differ by less than the percentage are left alone; an idle
// CPU still takes.
TEST(Balance, RatioSparesLongQueues) {
  Machine machine(2, 1);
  machine.Busy(0, 19);
  machine.Busy(1, 23);
  EXPECT_EQ(machine.RunPass(125), 0);
  Machine idle(2, 1);
  idle.Busy(1, 1);
  EXPECT_EQ(idle.RunPass(1000), 1);
}

// One CPU's record, looked at every 4 ms with slices of 5 ms.
class Service {
 public:
  static constexpr __u64 kSlice = 5000000;
  static constexpr __u64 kLook = 4000000;
  static constexpr __u64 kPatience = STEWARD_BALK_SLICES * kSlice;

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
TEST(Balance, CpuThatRunsNothingBalks) {
  Service cpu;
  cpu.Wait(Service::kLook, 1);
  EXPECT_FALSE(cpu.Wait(Service::kPatience - Service::kLook, 1));
  EXPECT_TRUE(cpu.Wait(2 * Service::kLook, 1));
  EXPECT_TRUE(cpu.Wait(Service::kPatience, 0));
}

// Waiting counts from when the queue was last empty.
TEST(Balance, EmptyQueueIsServed) {
  Service cpu;
  EXPECT_FALSE(cpu.Wait(10 * Service::kPatience, 0));
  EXPECT_FALSE(cpu.Wait(Service::kPatience - Service::kLook, 1));
  EXPECT_FALSE(cpu.Wait(Service::kLook, 0));
  EXPECT_FALSE(cpu.Wait(Service::kPatience - Service::kLook, 1));
}

// A CPU that runs anything serves, however long its queue is; so does one that
// ran nothing for a while and then did.
TEST(Balance, CpuThatRunsServes) {
  Service cpu;
  EXPECT_FALSE(cpu.Wait(10 * Service::kPatience, 40, 1));
  EXPECT_TRUE(cpu.Wait(2 * Service::kPatience, 40));
  EXPECT_FALSE(cpu.Wait(Service::kLook, 40, 1));
}

// One that balked and has nothing left is tried again after the retry time.
TEST(Balance, BalkEnds) {
  Service cpu;
  EXPECT_TRUE(cpu.Wait(2 * Service::kPatience, 1));
  EXPECT_TRUE(cpu.Wait(STEWARD_BALK_RETRY_NS / 2, 0));
  EXPECT_FALSE(cpu.Wait(STEWARD_BALK_RETRY_NS, 0));
}

// Short slices do not make the watch hasty.
TEST(Balance, PatienceHasAFloor) {
  steward_seen seen = {};
  seen.nr_queued = 1;
  seen.served_ns = 1000;
  steward_watch_service(&seen, 0, 500000, seen.served_ns + STEWARD_BALK_MIN_NS);
  EXPECT_EQ(seen.balks, 0u);
  steward_watch_service(&seen, 0, 500000, seen.served_ns + STEWARD_BALK_MIN_NS + 1);
  EXPECT_EQ(seen.balks, 1u);
}

// The pace follows what the pass saw.
TEST(Balance, PaceFollowsNeed) {
  EXPECT_EQ(steward_pace_next(0, 0), STEWARD_PACE_PARKED);
  EXPECT_EQ(steward_pace_next(1, 0), STEWARD_PACE_PARKED);
  EXPECT_EQ(steward_pace_next(0, 5), STEWARD_PACE_SLOW);
  EXPECT_EQ(steward_pace_next(1, 5), STEWARD_PACE_FAST);
}

// Each pace has its own period, in ns.
TEST(Balance, PacePeriods) {
  steward_tunables tun = {};
  tun.balance_fast_us = 4;
  tun.balance_slow_us = 32;
  tun.balance_parked_us = 2000;
  EXPECT_EQ(steward_pace_ns(STEWARD_PACE_FAST, &tun), 4000u);
  EXPECT_EQ(steward_pace_ns(STEWARD_PACE_SLOW, &tun), 32000u);
  EXPECT_EQ(steward_pace_ns(STEWARD_PACE_PARKED, &tun), 2000000u);
}

}  // namespace
