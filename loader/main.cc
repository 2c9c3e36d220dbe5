// SPDX-License-Identifier: GPL-2.0-only
// scx_steward: parse, run, turn the status into an exit status.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "loader/base/status_macros.h"
#include "loader/commands.h"
#include "loader/log.h"
#include "loader/options.h"
#include "loader/topology.h"

namespace steward {
namespace {

absl::StatusOr<int> Main(const std::vector<std::string>& args) {
  const char* const timeout = std::getenv("SCX_TIMEOUT_MS");
  // Without a readable /sys no CPU may be named; the probe then says why nothing runs.
  ASSIGN_OR_RETURN(
      const Options options,
      ParseOptions(args, timeout != nullptr ? std::optional<std::string>(timeout) : std::nullopt,
                   ReadCpuLists("").value_or(CpuLists())));
  StartLog(options.verbosity);
  return RunCommand(options);
}

}  // namespace
}  // namespace steward

int main(int argc, char** argv) {
  absl::StatusOr<int> result = steward::Main(std::vector<std::string>(argv + 1, argv + argc));
  if (result.ok() && !std::cout.flush()) {
    result = absl::DataLossError("the output could not be written");
  }
  if (result.ok()) return *result;
  std::cerr << "scx_steward: " << result.status().message() << '\n';
  return EXIT_FAILURE;
}
