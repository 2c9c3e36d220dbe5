// SPDX-License-Identifier: GPL-2.0-only
// Why the scheduler ended, what to tell the user, and what to do then. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace steward {

// A copy of struct steward_exit and the dump.
struct ExitRecord {
  int kind = 0;  // enum scx_exit_kind; 0: still runs
  int cpu = -1;  // STEWARD_NO_CPU: unknown
  int64_t code = 0;
  std::string reason;
  std::string message;
  std::string dump;
};

enum class ExitAction {
  kSucceed,  // status 0: somebody asked for the end
  kRestart,  // the kernel asks us to load again, for instance because a CPU came
  kFail,     // status 1: an error, or the operator's emergency key
};

ExitAction DecideExit(const ExitRecord& record);

// As the other scx tools print it, for stderr.
std::string FormatExitReport(const ExitRecord& record);

}  // namespace steward
