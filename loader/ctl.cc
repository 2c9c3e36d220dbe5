// SPDX-License-Identifier: GPL-2.0-only
#include "loader/ctl.h"

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "loader/base/status_macros.h"
#include "loader/command_line.h"
#include "loader/control_client.h"
#include "loader/options.h"
#include "loader/stats_format.h"
#include "loader/stats_json.h"
#include "loader/tunables.h"
#include "nlohmann/json.hpp"

namespace steward {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string socket = kControlSocket;
  std::string knob;
  std::vector<std::string> changes;
  std::string interval;
  bool json = false;
};

absl::StatusOr<Json> CallOnce(const Arguments& arguments, const std::string& command,
                              const Json& args = Json::object()) {
  ASSIGN_OR_RETURN(ControlClient client, ControlClient::Connect(arguments.socket));
  return client.Call(command, args);
}

std::string PlainText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void PrintPairs(const Json& object, const char* between, std::ostream& out) {
  for (const auto& [name, value] : object.items())
    out << name << between << PlainText(value) << '\n';
}

absl::Status CtlStatus(const Arguments& arguments, std::ostream& out) {
  ASSIGN_OR_RETURN(const Json status, CallOnce(arguments, "status"));
  PrintPairs(status, ": ", out);
  return absl::OkStatus();
}

// One knob: its value alone, for scripts. All: in the form that `set` takes.
absl::Status CtlGet(const Arguments& arguments, std::ostream& out) {
  ASSIGN_OR_RETURN(const Json knobs, CallOnce(arguments, "get"));
  if (arguments.knob.empty()) {
    PrintPairs(knobs, "=", out);
    return absl::OkStatus();
  }
  if (!knobs.contains(arguments.knob)) return UnknownKnob(arguments.knob);
  out << PlainText(knobs[arguments.knob]) << '\n';
  return absl::OkStatus();
}

absl::Status CtlSet(const Arguments& arguments, std::ostream& out) {
  Json args = Json::object();
  for (const std::string& change : arguments.changes) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(change, absl::MaxSplits('=', 1));
    if (parts.first.empty() || parts.first.size() == change.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", change, "' is not of the form KNOB=VALUE"));
    }
    args[parts.first] = parts.second;
  }
  ASSIGN_OR_RETURN(const Json knobs, CallOnce(arguments, "set", args));
  for (const auto& [name, value] : args.items()) {
    out << name << '=' << PlainText(knobs.value(name, value)) << '\n';
  }
  return absl::OkStatus();
}

absl::Status CtlReset(const Arguments& arguments, std::ostream& out) {
  ASSIGN_OR_RETURN(const Json knobs, CallOnce(arguments, "reset"));
  PrintPairs(knobs, "=", out);
  return absl::OkStatus();
}

absl::Status CtlSchema(const Arguments& arguments, std::ostream& out) {
  ASSIGN_OR_RETURN(const Json schema, CallOnce(arguments, "schema"));
  out << schema.dump(2) << '\n';
  return absl::OkStatus();
}

absl::Status PrintStats(const Json& json, bool as_json, StatsSnapshot& last, std::ostream& out) {
  if (as_json) {
    out << json.dump() << std::endl;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(StatsSnapshot now, StatsFromJson(json));
  if (last.start_ns != now.start_ns) last = AtStart(now);
  out << FormatStatsLine(Difference(last, now)) << std::endl;
  last = std::move(now);
  return absl::OkStatus();
}

// Once: since the scheduler's start. With an interval: then again and again, what is new.
absl::Status CtlStats(const Arguments& arguments, std::ostream& out) {
  double seconds = 0;
  if (!arguments.interval.empty() &&
      (!absl::SimpleAtod(arguments.interval, &seconds) || !(seconds >= 0.1 && seconds <= 60))) {
    return absl::InvalidArgumentError(absl::StrCat("--interval: '", arguments.interval,
                                                   "' is not allowed; give seconds from 0.1 to "
                                                   "60"));
  }
  ASSIGN_OR_RETURN(ControlClient client, ControlClient::Connect(arguments.socket));
  StatsSnapshot last;
  for (;;) {
    ASSIGN_OR_RETURN(const Json json, client.Call("stats"));
    RETURN_IF_ERROR(PrintStats(json, arguments.json, last, out));
    if (seconds == 0 || !out) return absl::OkStatus();  // main() tells of lost output
    absl::SleepFor(absl::Seconds(seconds));
  }
}

using Action = std::function<absl::Status(const Arguments&, std::ostream&)>;

void AddCommands(CLI::App& app, Arguments& arguments, Action& action) {
  AddText(app, "--socket", arguments.socket, "PATH",
          absl::StrCat("the control socket (default ", kControlSocket, ")"));
  const auto add = [&](const char* name, const char* help, Action run) {
    CLI::App* const command = app.add_subcommand(name, help);
    command->callback([&action, run = std::move(run)] { action = run; });
    return command;
  };
  add("status", "what runs, since when, and which CPU balances", CtlStatus);
  add("get", "the knobs in force; one: its value alone", CtlGet)
      ->add_option("KNOB", arguments.knob, "name of a knob");
  add("set", "change knobs, all or none, in force at once", CtlSet)
      ->add_option("KNOB=VALUE", arguments.changes, "for example slice_us=3000 timer_cpu=2")
      ->required();
  add("reset", "all knobs to their defaults", CtlReset);
  CLI::App* const stats = add("stats", "statistics: since the start, or per interval", CtlStats);
  stats->add_flag("--json", arguments.json, "every counter, one JSON object per line");
  AddText(*stats, "--interval", arguments.interval, "SEC", "go on every SEC seconds (0.1 to 60)");
  add("schema", "knobs and counters with their meaning, as JSON", CtlSchema);
}

}  // namespace

absl::Status RunCtl(std::vector<std::string> args, std::ostream& out) {
  CLI::App app("Shows and changes a running scx_steward.", "stewardctl");
  Arguments arguments;
  Action action;
  bool version = false;
  app.add_flag("-V,--version", version, "print the version");
  AddCommands(app, arguments, action);
  app.require_subcommand(0, 1);

  std::string help;
  RETURN_IF_ERROR(ParseCommandLine(app, std::move(args), help));
  if (version) help = VersionText("stewardctl");
  if (!help.empty()) {
    out << help;
    return absl::OkStatus();
  }
  if (!action) return absl::InvalidArgumentError("which command? see stewardctl --help");
  return action(arguments, out);
}

}  // namespace steward
