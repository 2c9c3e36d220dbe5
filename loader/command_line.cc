// SPDX-License-Identifier: GPL-2.0-only
#include "loader/command_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace steward {
namespace {

// Together with the column of names this fits a terminal of 100 columns.
constexpr size_t kHelpWidth = 68;

std::string Wrap(absl::string_view text) {
  std::string wrapped;
  size_t column = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const bool fits = column + 1 + word.size() <= kHelpWidth;
    if (column > 0) absl::StrAppend(&wrapped, fits ? " " : "\n");
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    absl::StrAppend(&wrapped, word);
  }
  return wrapped;
}

}  // namespace

absl::Status ParseCommandLine(CLI::App& app, std::vector<std::string> args, std::string& help) {
  app.set_help_flag("-h,--help", "print this text");
  const std::string hint = "; see --help";
  std::reverse(args.begin(), args.end());  // as CLI11 wants it
  try {
    app.parse(std::move(args));
  } catch (const CLI::CallForHelp&) {
    help = app.help();
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
    return absl::InvalidArgumentError(
        absl::StrCat("unknown argument '", rest.empty() ? "" : rest.front(), "'", hint));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::vector<std::string> parts = absl::StrSplit(error.what(), ':');
    return absl::InvalidArgumentError(absl::StrCat(parts.front(), ": the value is missing", hint));
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), hint));
  }
  return absl::OkStatus();
}

CLI::Option* AddText(CLI::App& app, const std::string& flag, std::string& target,
                     const std::string& type, absl::string_view help) {
  return app.add_option(flag, target, Wrap(help))
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace steward
