// SPDX-License-Identifier: GPL-2.0-only
// What the rest of the loader needs of a running scheduler. BpfScheduler is the real one; tests
// have a fake.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loader/exit_report.h"
#include "loader/stats.h"
#include "steward/abi.h"

namespace steward {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  [[nodiscard]] virtual StatsSnapshot Stats() const = 0;

  // The values in force.
  [[nodiscard]] virtual steward_tunables Tunables() const = 0;

  // In force at once. The values have been judged before (tunables.h).
  virtual absl::Status SetTunables(const steward_tunables& tunables) = 0;

  // kind 0 as long as the scheduler runs.
  [[nodiscard]] virtual ExitRecord Exit() const = 0;

  // Gives the machine back to the kernel's own scheduler; Exit() then tells why.
  virtual void Detach() = 0;
};

// Loads and attaches with these values. The scheduler may have ended already when it returns.
using Launcher = std::function<absl::StatusOr<std::unique_ptr<Scheduler>>(const steward_tunables&)>;

}  // namespace steward
