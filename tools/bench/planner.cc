// SPDX-License-Identifier: GPL-2.0-only
// What the plan of one pass costs, by number of CPUs: the functions of include/steward/balance.h
// alone, natively. What a pass adds to that (queues, locks, idle masks) is measured in a guest.
//
// Times are per pass. `pairs` is how many times a pass asked for a giver and a taker, `moved` how
// many tasks its plan moved.
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "steward/balance.h"

namespace {

constexpr __u32 kTries = 64;  // PASS_TRIES of bpf/balance.bpf.h
constexpr __u32 kMoves = 32;  // tunables.pass_moves
constexpr __u32 kImbalancePct = 117;

enum Load : int {
  kIdle,    // nothing runs or waits: the plan of most passes of a quiet machine
  kEven,    // two hogs on each CPU: the most looks for nothing
  kUneven,  // none to four hogs on each CPU
  kOneHot,  // all hogs on one CPU, the others idle
};

// A machine of caches of 16 CPUs and nodes of 64, as a pass sees it.
class Machine {
 public:
  Machine(__u32 nr, Load load) : nr_(nr), cells_(STEWARD_MAX_CPUS), topo_(STEWARD_MAX_CPUS) {
    std::mt19937 random(1);
    for (__u32 cpu = 0; cpu < nr; cpu++) {
      topo_[cpu].llc = static_cast<__u16>(cpu / 16);
      topo_[cpu].node = static_cast<__u16>(cpu / 64);
      topo_[cpu].capacity = STEWARD_CAPACITY_FULL;
      steward_seen& seen = cells_[cpu].seen;
      const __u32 tasks = load == kIdle     ? 0
                          : load == kEven   ? 2
                          : load == kUneven ? static_cast<__u32>(random() % 5)
                          : cpu == nr / 2   ? nr
                                            : 0;
      seen.online = 1;
      seen.idle = tasks == 0;
      seen.nr_queued = tasks ? tasks - 1 : 0;
      seen.runnable_load = seen.last_load = tasks * STEWARD_LOAD_FULL;
      start_.push_back(seen);
    }
  }

  // Back to the start. Outside of what is measured.
  void Reset() {
    for (__u32 cpu = 0; cpu < nr_; cpu++) cells_[cpu].seen = start_[cpu];
  }

  // even_out() of bpf/balance.bpf.h, with tasks of which every one may go.
  void Plan() {
    __u32 moved = 0;
    for (__u32 attempt = 0; attempt < kTries && moved < kMoves; attempt++) {
      const __s32 taker = steward_pick_taker(cells_.data(), topo_.data(), nr_, next_);
      if (taker < 0) break;
      pairs_++;
      next_ = static_cast<__u32>(taker + 1) % nr_;
      const auto to = static_cast<__u32>(taker);
      const __s32 giver = steward_pick_giver(cells_.data(), topo_.data(), nr_, to, kImbalancePct);
      if (giver < 0) {
        cells_[to].seen.spent = 1;
        continue;
      }
      steward_plan_moved(cells_.data(), static_cast<__u32>(giver), to, STEWARD_LOAD_FULL);
      cells_[to].seen.idle = 0;
      moved++;
    }
    moved_ += moved;
  }

  [[nodiscard]] double pairs() const { return pairs_; }
  [[nodiscard]] double moved() const { return moved_; }

 private:
  __u32 nr_;
  __u32 next_ = 0;
  std::vector<steward_cell> cells_;
  std::vector<steward_cpu> topo_;
  std::vector<steward_seen> start_;
  double pairs_ = 0;
  double moved_ = 0;
};

void Plan(benchmark::State& state, Load load) {
  Machine machine(static_cast<__u32>(state.range(0)), load);
  for ([[maybe_unused]] auto pass : state) {
    state.PauseTiming();
    machine.Reset();
    state.ResumeTiming();
    machine.Plan();
  }
  state.counters["pairs"] = benchmark::Counter(machine.pairs(), benchmark::Counter::kAvgIterations);
  state.counters["moved"] = benchmark::Counter(machine.moved(), benchmark::Counter::kAvgIterations);
}

BENCHMARK_CAPTURE(Plan, idle, kIdle)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(Plan, even, kEven)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(Plan, uneven, kUneven)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(Plan, one_hot, kOneHot)->Arg(64)->Arg(256)->Arg(1024);

}  // namespace

BENCHMARK_MAIN();
