// SPDX-License-Identifier: GPL-2.0-only
// What both programs need of CLI11, whose exceptions end here.
#pragma once

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace steward {

// args without the program's name. Adds --help; if it was given, `help` is the text to print and
// nothing else counts. An error is one sentence.
absl::Status ParseCommandLine(CLI::App& app, std::vector<std::string> args, std::string& help);

// An option whose text the caller judges; given twice, the last counts.
CLI::Option* AddText(CLI::App& app, const std::string& flag, std::string& target,
                     const std::string& type, absl::string_view help);

}  // namespace steward
