// SPDX-License-Identifier: GPL-2.0-only
// The kernel's notation for sets of CPUs, such as "0-3,8".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace steward {

// CPU numbers, ascending, each once. Empty text and "(null)" are the empty set.
absl::StatusOr<std::vector<int>> ParseCpuList(absl::string_view text);

std::string FormatCpuList(const std::vector<int>& cpus);

// cpus must be ascending.
bool Contains(const std::vector<int>& cpus, int cpu);

}  // namespace steward
