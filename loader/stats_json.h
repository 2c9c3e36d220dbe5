// SPDX-License-Identifier: GPL-2.0-only
// Snapshots as JSON and back: what the control socket carries and `stewardctl stats --json` prints.
#pragma once

#include "absl/status/statusor.h"
#include "loader/stats.h"
#include "nlohmann/json_fwd.hpp"

namespace steward {

// Every number of stats.def under its own name, per-CPU ones also as sums; some grouped as well
// (moved, pass_ns), as the interface promises.
nlohmann::ordered_json StatsToJson(const StatsSnapshot& stats);

absl::StatusOr<StatsSnapshot> StatsFromJson(const nlohmann::ordered_json& json);

// Name, meaning and scope of each counter.
nlohmann::ordered_json StatsSchema();

}  // namespace steward
