// SPDX-License-Identifier: GPL-2.0-only
// Where and how log lines appear: on stderr, one line each, no time stamp (journald has one).
#pragma once

namespace steward {

// verbosity: how often -v was given.
void StartLog(int verbosity);

}  // namespace steward
