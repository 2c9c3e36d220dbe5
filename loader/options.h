// SPDX-License-Identifier: GPL-2.0-only
// scx_steward's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loader/topology.h"
#include "steward/abi.h"

namespace steward {

enum class Command {
  kRun,
  kMonitor,
  kCheck,
  kPrintText,  // --help, --help-stats, --version
};

struct Options {
  Command command = Command::kRun;
  std::string text;  // for kPrintText
  steward_tunables tunables = {};
  std::optional<absl::Duration> stats;  // print at this interval
  absl::Duration monitor;               // kMonitor's interval
  uint32_t timeout_ms = 0;
  uint32_t exit_dump_len = 0;
  steward_blocked_load blocked_load = STEWARD_BLOCKED_RING;
  int verbosity = 0;
};

// "scx_steward 0.1.0 x86_64-linux-gnu"
std::string VersionText(const std::string& program);

// args without the program's name. timeout_env: what SCX_TIMEOUT_MS is set to, if it is. lists: the
// machine's CPUs, of which one may be the timer CPU. An error is one sentence that names the flag
// and what it allows.
absl::StatusOr<Options> ParseOptions(std::vector<std::string> args,
                                     const std::optional<std::string>& timeout_env,
                                     const CpuLists& lists);

}  // namespace steward
