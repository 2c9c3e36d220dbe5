// SPDX-License-Identifier: GPL-2.0-only
#include "loader/cpu_list.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace steward {
namespace {

// More than any kernel has; keeps a damaged file from filling memory.
constexpr int kMaxCpuNumber = 1 << 16;

}  // namespace

absl::StatusOr<std::vector<int>> ParseCpuList(absl::string_view text) {
  std::vector<int> cpus;
  if (text.empty() || text == "(null)") return cpus;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) first = -1;
    int last = first;
    if (part.size() != ends.first.size() && !absl::SimpleAtoi(ends.second, &last)) last = -1;
    if (first < 0 || last < first || last > kMaxCpuNumber) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is not a list of CPUs such as 0-3,8"));
    }
    for (int cpu = first; cpu <= last; cpu++) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string FormatCpuList(const std::vector<int>& cpus) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) end++;
    parts.push_back(end - i == 1 ? absl::StrCat(cpus[i])
                                 : absl::StrCat(cpus[i], "-", cpus[end - 1]));
    i = end;
  }
  return absl::StrJoin(parts, ",");
}

bool Contains(const std::vector<int>& cpus, int cpu) {
  return std::binary_search(cpus.begin(), cpus.end(), cpu);
}

}  // namespace steward
