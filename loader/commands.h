// SPDX-License-Identifier: GPL-2.0-only
// What scx_steward does for each kind of command line: builds the pieces and runs them.
#pragma once

#include "absl/status/statusor.h"
#include "loader/options.h"

namespace steward {

// The process's exit status.
absl::StatusOr<int> RunCommand(const Options& options);

}  // namespace steward
