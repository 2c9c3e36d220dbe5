// SPDX-License-Identifier: GPL-2.0-only
// The planner: whom it pairs, which task it lets go, and that repeated passes come to rest.
#include "steward/balance.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <ranges>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr __u32 kPct = 117;
constexpr __u32 kFull = STEWARD_LOAD_FULL;

// A machine of `nr` CPUs in `llcs` caches, two caches a node, all online and free, with tasks that
// never sleep. Carries plans out as the pass does.
class Machine {
 public:
  Machine(__u32 nr, __u32 llcs)
      : nr_(nr), cells_(STEWARD_MAX_CPUS), topo_(STEWARD_MAX_CPUS), queues_(nr) {
    for (__u32 cpu = 0; cpu < nr; cpu++) {
      const __u32 llc = cpu * llcs / nr;
      topo_[cpu].llc = static_cast<__u16>(llc);
      topo_[cpu].node = static_cast<__u16>(llc / 2);
      topo_[cpu].capacity = STEWARD_CAPACITY_FULL;
      seen(cpu).online = 1;
      seen(cpu).idle = 1;
    }
  }

  steward_seen& seen(__u32 cpu) { return cells_[cpu].seen; }
  steward_cpu& topo(__u32 cpu) { return topo_[cpu]; }
  [[nodiscard]] __u32 Load(__u32 cpu) const { return cells_[cpu].seen.runnable_load; }

  // `loads`: of the task that runs on `cpu`, and of those that wait; as in the last pass.
  void Busy(__u32 cpu, const std::vector<__u32>& loads) {
    queues_[cpu].assign(loads.begin() + 1, loads.end());
    seen(cpu).idle = 0;
    seen(cpu).nr_queued = static_cast<__u32>(queues_[cpu].size());
    seen(cpu).runnable_load = std::accumulate(loads.begin(), loads.end(), 0U);
    seen(cpu).last_load = seen(cpu).runnable_load;
  }
  void Busy(__u32 cpu, __u32 queued) { Busy(cpu, std::vector<__u32>(queued + 1, kFull)); }

  __s32 Taker(__u32 start = 0) {
    return steward_pick_taker(cells_.data(), topo_.data(), nr_, start);
  }
  __s32 Giver(__u32 taker) {
    return steward_pick_giver(cells_.data(), topo_.data(), nr_, taker, kPct);
  }
  void Refuse(__u32 giver, __u32 taker) { steward_plan_refused(cells_.data(), giver, taker); }
  __u32 Gap(__u32 giver, __u32 taker) {
    return steward_task_gap(&seen(giver), topo_[giver].capacity, &seen(taker),
                            topo_[taker].capacity, kPct);
  }
  __u32 LoadMax(__u32 giver, __u32 taker) {
    return steward_move_range(Gap(giver, taker), &seen(taker)).most;
  }
  void Offline(__u32 cpu) {
    seen(cpu) = {};
    seen(cpu).idle = 1;
    queues_[cpu].clear();
  }

  // Lets every CPU run its next task; returns the number of moves of the pass before that.
  int RunPass(int max_moves = 32) {
    int moves = 0;
    for (__u32 cpu = 0; cpu < nr_; cpu++) {
      seen(cpu).spent = 0;
      seen(cpu).refused = 0;
      seen(cpu).last_load = Load(cpu);
    }
    for (int tries = 0; tries < 64 && moves < max_moves; tries++) {
      const __s32 taker = Taker();
      if (taker < 0) break;
      const __s32 giver = Giver(static_cast<__u32>(taker));
      if (giver < 0) {
        seen(static_cast<__u32>(taker)).spent = 1;
      } else if (Walk(static_cast<__u32>(giver), static_cast<__u32>(taker))) {
        moves++;
      } else {
        Refuse(static_cast<__u32>(giver), static_cast<__u32>(taker));
      }
    }
    for (__u32 cpu = 0; cpu < nr_; cpu++) Turn(cpu);
    return moves;
  }

  std::vector<__u32> Loads() {
    std::vector<__u32> loads;
    for (__u32 cpu = 0; cpu < nr_; cpu++) {
      if (seen(cpu).online) loads.push_back(Load(cpu));
    }
    return loads;
  }

  uint64_t Squares() {
    uint64_t sum = 0;
    for (const uint64_t load : Loads()) sum += load * load;
    return sum;
  }

 private:
  // Moves the first waiting task of such a load.
  bool MoveOne(__u32 from, __u32 to, steward_range range) {
    auto& queue = queues_[from];
    const auto task = std::find_if(queue.begin(), queue.end(), [range](__u32 load) {
      return load >= range.least && load <= range.most;
    });
    if (task == queue.end()) return false;
    queues_[to].push_back(*task);
    steward_plan_moved(cells_.data(), from, to, *task);
    queue.erase(task);
    return true;
  }

  // As relieve() in bpf/balance.bpf.h.
  bool Walk(__u32 giver, __u32 taker) {
    EXPECT_TRUE(seen(taker).online);
    EXPECT_GT(seen(giver).nr_queued, 0U);
    const bool was_free = steward_is_free(&seen(taker));
    const uint64_t before = Squares();
    const __u32 gap = Gap(giver, taker);
    const steward_range range = steward_move_range(gap, &seen(taker));
    if (!MoveOne(giver, taker, range)) {
      __u32 heavy = ~0U;
      for (const __u32 load : queues_[giver]) heavy = std::min(heavy, load);
      if (!MoveOne(taker, giver, steward_swap_range(gap, heavy))) return false;
      EXPECT_TRUE(MoveOne(giver, taker, {heavy, heavy}));
    }
    // A plan never makes the imbalance worse.
    if (!was_free) {
      EXPECT_LT(Squares(), before);
    }
    return true;
  }

  // A free CPU starts what it got; a busy one swaps its task with the next.
  void Turn(__u32 cpu) {
    auto& queue = queues_[cpu];
    if (queue.empty()) return;
    if (seen(cpu).idle) {
      seen(cpu).idle = 0;
      queue.erase(queue.begin());
    } else {
      const __u32 waiting = std::accumulate(queue.begin(), queue.end(), 0U);
      queue.push_back(Load(cpu) - waiting);
      queue.erase(queue.begin());
    }
    seen(cpu).nr_queued = static_cast<__u32>(queue.size());
  }

  __u32 nr_;
  std::vector<steward_cell> cells_;
  std::vector<steward_cpu> topo_;
  std::vector<std::vector<__u32>> queues_;  // loads of the tasks that wait
};

// An idle CPU takes from the CPU where a task waits, even a light one.
TEST(Balance, IdleTakesFromQueue) {
  Machine machine(4, 1);
  machine.Busy(2, std::vector<__u32>{kFull, 3});
  ASSERT_EQ(machine.Taker(), 0);
  EXPECT_EQ(machine.Giver(0), 2);
  EXPECT_GE(machine.LoadMax(2, 0), 100U * kFull);
}

// Where every CPU runs one task and nothing waits, nobody gives.
TEST(Balance, NothingQueuedNothingMoves) {
  Machine machine(4, 1);
  for (__u32 cpu = 0; cpu < 3; cpu++) machine.Busy(cpu, 0);
  EXPECT_EQ(machine.RunPass(), 0);
}

// A difference of one task is even: moving it would only turn the pair round.
TEST(Balance, DifferenceOfOneTaskIsEven) {
  Machine machine(2, 1);
  machine.Busy(0, 2);
  machine.Busy(1, 1);
  for (int pass = 0; pass < 5; pass++) EXPECT_EQ(machine.RunPass(), 0);
  machine.Busy(0, 3);
  EXPECT_EQ(machine.RunPass(), 1);
}

// The task that goes is one whose load the gap has room for.
TEST(Balance, HeavyTaskStaysLightOneGoes) {
  Machine machine(2, 1);
  machine.Busy(0, std::vector<__u32>{kFull, kFull, 400});
  machine.Busy(1, std::vector<__u32>{kFull, kFull});
  EXPECT_EQ(machine.LoadMax(0, 1), 350U);
  EXPECT_EQ(machine.RunPass(), 0);
  machine.Busy(0, std::vector<__u32>{kFull, kFull, 500, 200});
  EXPECT_EQ(machine.RunPass(), 1);
  EXPECT_EQ(machine.Load(1), 2 * kFull + 500);
}

// Where every task is too heavy to go alone, one is exchanged for a lighter one.
TEST(Balance, HeavyTaskIsExchanged) {
  Machine machine(2, 1);
  machine.Busy(0, std::vector<__u32>{kFull, kFull});
  machine.Busy(1, std::vector<__u32>{300, 300, 300, 300});
  EXPECT_EQ(machine.RunPass(), 2);
  EXPECT_EQ(machine.Load(0), kFull + 600);
  EXPECT_EQ(machine.Load(1), kFull + 600);
  EXPECT_LT(steward_swap_range(1000, 100).most, steward_swap_range(1000, 100).least);
  EXPECT_EQ(steward_swap_range(640, 1000).least, 361U);
  EXPECT_EQ(steward_swap_range(640, 1000).most, 919U);
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

// Of free CPUs the one with fewer sleepers takes; of busy ones the load decides first.
TEST(Balance, SleepersDecideBetweenEquals) {
  Machine machine(3, 1);
  machine.Busy(2, 3);
  machine.seen(0).blocked_load = 700;
  machine.seen(1).blocked_load = 300;
  EXPECT_EQ(machine.Taker(), 1);
  machine.Busy(0, 0);
  machine.Busy(1, 1);
  EXPECT_EQ(machine.Taker(), 0);
}

// A free CPU takes before one that is busy with less load than the free one's sleepers.
TEST(Balance, FreeBeforeBusy) {
  Machine machine(3, 1);
  machine.Busy(0, std::vector<__u32>{5});
  machine.Busy(2, 3);
  machine.seen(1).blocked_load = 5000;
  EXPECT_EQ(machine.Taker(), 1);
}

// A CPU that runs none of our tasks but does not idle is not a free place.
TEST(Balance, HeldByAnotherClass) {
  Machine machine(3, 1);
  machine.seen(0).idle = 0;
  machine.Busy(1, std::vector<__u32>{kFull / 2});
  machine.Busy(2, 4);
  EXPECT_EQ(machine.Taker(), 1);
  EXPECT_EQ(steward_taker_load(&machine.seen(0)), kFull);
}

// The same load weighs twice on a CPU of half the capacity.
TEST(Balance, CapacityScalesLoad) {
  Machine machine(2, 1);
  machine.topo(0).capacity = 512;
  machine.Busy(0, 1);
  machine.Busy(1, 1);
  EXPECT_EQ(machine.Taker(), 1);
  EXPECT_EQ(machine.Giver(1), 0);
  EXPECT_EQ(machine.Giver(0), STEWARD_NO_CPU);
  // 2 on the slow, 4 on the fast one is even.
  machine.Busy(1, 3);
  for (int pass = 0; pass < 5; pass++) EXPECT_EQ(machine.RunPass(), 0);
}

// Random machines and weights: load is conserved, offline CPUs are untouched, no move makes it
// worse, and a few passes end in a state where nothing moves any more.
TEST(Balance, RandomMachinesConvergeAndRest) {
  std::mt19937 random(20261201);
  for (int round = 0; round < 300; round++) {
    const __u32 nr = 1 + static_cast<__u32>(random() % 64);
    Machine machine(nr, 1 + static_cast<__u32>(random() % 8));
    for (__u32 cpu = 0; cpu < nr; cpu++) {
      std::vector<__u32> loads(1 + random() % 12);
      for (__u32& load : loads)
        load = random() % 4 ? kFull : 1 + static_cast<__u32>(random() % 9000);
      if (random() % 3) machine.Busy(cpu, loads);
      if (random() % 10 == 0) machine.Offline(cpu);
    }
    const auto before = machine.Loads();
    int quiet = 0;
    for (int pass = 0; pass < 400 && quiet < 20; pass++) quiet = machine.RunPass() ? 0 : quiet + 1;
    ASSERT_EQ(quiet, 20) << "round " << round;
    const auto after = machine.Loads();
    ASSERT_EQ(std::accumulate(before.begin(), before.end(), uint64_t{0}),
              std::accumulate(after.begin(), after.end(), uint64_t{0}));
    for (const __u32 cpu : std::views::iota(0U, nr)) {
      if (!machine.seen(cpu).online) {
        ASSERT_EQ(machine.Load(cpu), 0U);
      }
    }
  }
}

// Two hogs a CPU, half of them nice, started anywhere, end within a tenth of the mean.
TEST(Balance, UnequalHogsEndEven) {
  constexpr __u32 kWeights[] = {80, 64, 51, 41, 33, 27, 21, 17, 13, 11};  // of nice 1 to 10
  std::mt19937 random(7);
  for (int round = 0; round < 10000; round++) {
    const __u32 nr = 2 + static_cast<__u32>(random() % 15);
    const __u32 weight = kWeights[round % std::size(kWeights)];
    Machine machine(nr, 1);
    std::vector<std::vector<__u32>> start(nr);
    uint64_t sum = 0;
    for (__u32 hog = 0; hog < 2 * nr; hog++) {
      // What is measured of a hog is a little less than what it is.
      const __u32 load =
          (hog % 2 ? kFull : kFull * weight / 100) - static_cast<__u32>(random() % 3);
      start[random() % 3 ? 0 : random() % nr].push_back(load);
      sum += load;
    }
    for (__u32 cpu = 0; cpu < nr; cpu++) {
      if (!start[cpu].empty()) machine.Busy(cpu, start[cpu]);
    }
    int quiet = 0;
    for (int pass = 0; pass < 200 && quiet < 20; pass++) quiet = machine.RunPass() ? 0 : quiet + 1;
    ASSERT_EQ(quiet, 20);
    const double mean = static_cast<double>(sum) / nr;
    for (const __u32 load : machine.Loads()) {
      EXPECT_NEAR(load, mean, mean / 10)
          << "round " << round << ", " << nr << " CPUs, weight " << weight;
    }
  }
}

// Two CPUs whose loads waver around equal never exchange a task.
TEST(Balance, NearlyEqualNeverPingPong) {
  std::mt19937 random(3);
  Machine machine(2, 1);
  for (int pass = 0; pass < 1000; pass++) {
    const auto wavering = [&random] { return kFull - static_cast<__u32>(random() % 100); };
    machine.Busy(0, std::vector<__u32>{wavering(), wavering(), 60});
    machine.Busy(1, std::vector<__u32>{wavering(), wavering()});
    EXPECT_EQ(machine.RunPass(), 0) << pass;
  }
}

// Nor do CPUs that are one task apart, whose move would only turn them round, though the gap wavers
// around the load of a task.
TEST(Balance, AlmostOneTaskApartNeverPingPong) {
  std::mt19937 random(5);
  Machine machine(2, 1);
  const auto tasks = [&random](size_t count, __u32 waver) {
    std::vector<__u32> loads(count);
    std::ranges::generate(loads, [&] { return kFull - static_cast<__u32>(random() % waver); });
    return loads;
  };
  for (const auto& [more, waver] : {std::pair(3, kFull / 30), std::pair(2, kFull / 100)}) {
    for (int pass = 0; pass < 10000; pass++) {
      machine.Busy(0, tasks(static_cast<size_t>(more), waver));
      machine.Busy(1, tasks(static_cast<size_t>(more) - 1, waver));
      EXPECT_EQ(machine.RunPass(), 0) << more << " tasks, pass " << pass;
    }
  }
}

// Between busy CPUs one look is not enough: a burst on the giver or a lull on the taker moves
// nothing.
TEST(Balance, BusyTakerWantsTwoLooks) {
  Machine machine(2, 1);
  machine.Busy(0, 0);
  machine.Busy(1, 6);
  machine.seen(1).last_load = kFull;
  EXPECT_EQ(machine.Giver(0), STEWARD_NO_CPU);
  machine.seen(1).last_load = 7 * kFull;
  EXPECT_EQ(machine.Giver(0), 1);
  machine.seen(0).last_load = 7 * kFull;
  EXPECT_EQ(machine.Giver(0), STEWARD_NO_CPU);
}

// An idle CPU does not wait for a second look.
TEST(Balance, IdleTakerTakesAtOnce) {
  Machine machine(2, 1);
  machine.Busy(1, 1);
  machine.seen(0).last_load = 9 * kFull;
  machine.seen(1).last_load = 0;
  EXPECT_EQ(machine.Giver(0), 1);
}

// Long queues that differ by less than the percentage are left alone; an idle CPU still takes.
TEST(Balance, RatioSparesLongQueues) {
  Machine machine(3, 1);
  machine.Busy(0, 19);
  machine.Busy(1, 22);
  machine.seen(2).online = 0;
  EXPECT_EQ(machine.RunPass(), 0);
  machine.seen(2).online = 1;
  EXPECT_GT(machine.RunPass(), 0);
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
