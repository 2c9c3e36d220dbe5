// SPDX-License-Identifier: GPL-2.0-only
// A scheduler without a kernel. Its state outlives it, so that tests can look at it after the App
// has let go of it.
#pragma once

#include <memory>
#include <utility>

#include "loader/scheduler.h"
#include "loader/tunables.h"

namespace steward {

struct FakeState {
  StatsSnapshot stats;
  steward_tunables tunables = DefaultTunables();
  ExitRecord exit;          // what Exit() says
  ExitRecord after_detach;  // what it says after Detach(), if it said "runs" before
  int detached = 0;
  int tunables_set = 0;
};

class FakeScheduler : public Scheduler {
 public:
  explicit FakeScheduler(std::shared_ptr<FakeState> state) : state_(std::move(state)) {}

  [[nodiscard]] StatsSnapshot Stats() const override { return state_->stats; }
  [[nodiscard]] steward_tunables Tunables() const override { return state_->tunables; }
  absl::Status SetTunables(const steward_tunables& tunables) override {
    state_->tunables = tunables;
    state_->tunables_set++;
    return absl::OkStatus();
  }
  [[nodiscard]] ExitRecord Exit() const override { return state_->exit; }
  void Detach() override {
    state_->detached++;
    if (state_->exit.kind == 0) state_->exit = state_->after_detach;
  }

 private:
  std::shared_ptr<FakeState> state_;
};

}  // namespace steward
