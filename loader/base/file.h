// SPDX-License-Identifier: GPL-2.0-only
// Reading small text files of /proc and /sys.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace steward {

// The whole file, without white space at its end. The status names the path and the error.
absl::StatusOr<std::string> ReadText(const std::string& path);

bool PathExists(const std::string& path);

// Names in a directory, sorted; empty if there is none.
std::vector<std::string> ListDirectory(const std::string& path);

}  // namespace steward
