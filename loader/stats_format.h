// SPDX-License-Identifier: GPL-2.0-only
// Statistics as text for people. Pure: numbers in, text out.
#pragma once

#include <string>

#include "loader/stats.h"

namespace steward {

// One line about an interval, as made by Difference().
std::string FormatStatsLine(const StatsSnapshot& change);

// What --help-stats prints: every counter, its type and its meaning.
std::string FormatStatsHelp();

}  // namespace steward
