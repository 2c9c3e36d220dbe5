// SPDX-License-Identifier: GPL-2.0-only
#include "loader/options.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "loader/base/status_macros.h"
#include "loader/command_line.h"
#include "loader/stats_format.h"
#include "loader/tunables.h"
#include "loader/version.h"

namespace steward {
namespace {

constexpr char kTimeoutEnv[] = "SCX_TIMEOUT_MS";
constexpr uint32_t kDefaultTimeoutMs = 10000;
constexpr uint32_t kMaxTimeoutMs = 30000;  // more is refused by the kernel
constexpr double kMinInterval = 0.1;
constexpr double kMaxInterval = 86400;

// What the parser fills in: text, judged afterwards, so that every complaint has our wording.
struct RawFlags {
  std::map<std::string, std::string> knobs;
  std::string stats;
  std::string monitor;
  std::string timeout_ms;
  std::string exit_dump_len;
  std::string blocked_load;
  int verbosity = 0;
  bool check = false;
  bool help_stats = false;
  bool version = false;
};

absl::StatusOr<uint32_t> ParseNumber(const std::string& label, const std::string& text,
                                     uint32_t min, uint32_t max) {
  uint32_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < min || value > max) {
    return absl::InvalidArgumentError(absl::StrCat(
        label, ": '", text, "' is not allowed; give a whole number from ", min, " to ", max));
  }
  return value;
}

constexpr std::pair<const char*, steward_blocked_load> kBlockedLoads[] = {
    {"ring", STEWARD_BLOCKED_RING},
    {"atomic", STEWARD_BLOCKED_ATOMIC},
    {"none", STEWARD_BLOCKED_NONE},
};

absl::StatusOr<steward_blocked_load> ParseBlockedLoad(const std::string& text) {
  for (const auto& [name, mode] : kBlockedLoads) {
    if (text == name) return mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--blocked-load: '", text, "' is not allowed; give ring, atomic or none"));
}

absl::StatusOr<absl::Duration> ParseInterval(const std::string& label, const std::string& text) {
  double seconds = 0;
  // Written so that a NaN fails.
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= kMinInterval && seconds <= kMaxInterval)) {
    return absl::InvalidArgumentError(absl::StrCat(label, ": '", text,
                                                   "' is not allowed; give seconds from ",
                                                   kMinInterval, " to ", kMaxInterval));
  }
  return absl::Seconds(seconds);
}

void AddKnobs(CLI::App& app, RawFlags& raw) {
  for (const Knob& knob : Knobs()) {
    AddText(app, KnobFlag(knob.name), raw.knobs[knob.name], "N",
            absl::StrCat(knob.why, " (", knob.min, " to ", knob.max, " ", knob.unit, ", default ",
                         knob.default_value, ")"))
        ->group("Tunables, also changed at run time with stewardctl set");
  }
  AddText(app, KnobFlag(kTimerCpuKnob), raw.knobs[kTimerCpuKnob], "N|auto",
          absl::StrCat(kTimerCpuWhy, " (default auto)"))
      ->group("Tunables, also changed at run time with stewardctl set");
}

void AddFlags(CLI::App& app, RawFlags& raw) {
  app.add_flag("-V,--version", raw.version, "print the version");
  app.add_flag("-v,--verbose", raw.verbosity, "say more; twice: libbpf's debug messages as well");
  app.add_flag("--check", raw.check,
               "say whether this machine can run it and what is missing; changes nothing");
  AddKnobs(app, raw);
  AddText(app, "--stats", raw.stats, "SEC", "run, and print a line of statistics every SEC seconds")
      ->group("Statistics");
  AddText(app, "--monitor", raw.monitor, "SEC",
          "do not run: print the statistics of a running scx_steward every SEC seconds, and wait "
          "for one as long as there is none")
      ->group("Statistics");
  app.add_flag("--help-stats", raw.help_stats, "explain every counter")->group("Statistics");
  AddText(app, "--timeout-ms", raw.timeout_ms, "MS",
          absl::StrCat("the kernel ends the scheduler when a runnable task has not run for this "
                       "long (1 to ",
                       kMaxTimeoutMs, ", default ", kDefaultTimeoutMs,
                       ": sooner than the kernel's own 30000, so that a fault is short); ",
                       kTimeoutEnv, " in the environment overrides it"))
      ->group("Safety");
  AddText(app, "--exit-dump-len", raw.exit_dump_len, "BYTES",
          absl::StrCat("size of the debug dump made after an error (0 to ", STEWARD_DUMP_LEN,
                       ", default 0: the kernel's choice)"))
      ->group("Safety");
}

void AddAblations(CLI::App& app, RawFlags& raw) {
  AddText(app, "--blocked-load", raw.blocked_load, "ring|atomic|none",
          "how the load of sleeping tasks is tracked: each CPU in memory of its own (ring, the "
          "default), with shared counters as kernels up to 4.2 did (atomic), or not (none)")
      ->group("Ablations, to measure what the design buys");
}

absl::Status FillTunables(const CLI::App& app, const RawFlags& raw, const CpuLists& lists,
                          steward_tunables& tunables) {
  tunables = DefaultTunables();
  for (const auto& [knob, value] : raw.knobs) {
    const std::string flag = KnobFlag(knob);
    if (app.count(flag) > 0) RETURN_IF_ERROR(SetKnob(knob, value, flag, lists, tunables));
  }
  return CheckOrder(tunables);
}

absl::Status FillSafety(const CLI::App& app, const RawFlags& raw,
                        const std::optional<std::string>& timeout_env, Options& options) {
  options.timeout_ms = kDefaultTimeoutMs;
  if (app.count("--timeout-ms") > 0) {
    ASSIGN_OR_RETURN(options.timeout_ms,
                     ParseNumber("--timeout-ms", raw.timeout_ms, 1, kMaxTimeoutMs));
  }
  if (timeout_env) {
    ASSIGN_OR_RETURN(options.timeout_ms, ParseNumber(kTimeoutEnv, *timeout_env, 1, kMaxTimeoutMs));
  }
  if (app.count("--exit-dump-len") > 0) {
    ASSIGN_OR_RETURN(options.exit_dump_len,
                     ParseNumber("--exit-dump-len", raw.exit_dump_len, 0, STEWARD_DUMP_LEN));
  }
  return absl::OkStatus();
}

}  // namespace

std::string VersionText(const std::string& program) {
  return absl::StrCat(program, " ", STEWARD_VERSION, " ", STEWARD_TRIPLE, "\n");
}

absl::StatusOr<Options> ParseOptions(std::vector<std::string> args,
                                     const std::optional<std::string>& timeout_env,
                                     const CpuLists& lists) {
  RawFlags raw;
  CLI::App app(
      "A sched_ext scheduler: every CPU runs from its own queue, and one CPU, the timer CPU, does "
      "all load balancing.\nRuns in the foreground until Ctrl-C; the kernel's own scheduler then "
      "takes over.",
      "scx_steward");
  AddFlags(app, raw);
  AddAblations(app, raw);

  Options options;
  RETURN_IF_ERROR(ParseCommandLine(app, std::move(args), options.text));
  if (raw.version) options.text = VersionText("scx_steward");
  if (raw.help_stats) options.text = FormatStatsHelp();
  if (!options.text.empty()) {
    options.command = Command::kPrintText;
    return options;
  }
  options.verbosity = raw.verbosity;
  RETURN_IF_ERROR(FillTunables(app, raw, lists, options.tunables));
  RETURN_IF_ERROR(FillSafety(app, raw, timeout_env, options));
  if (app.count("--blocked-load") > 0) {
    ASSIGN_OR_RETURN(options.blocked_load, ParseBlockedLoad(raw.blocked_load));
  }
  if (app.count("--stats") > 0) {
    ASSIGN_OR_RETURN(options.stats, ParseInterval("--stats", raw.stats));
  }
  if (app.count("--monitor") > 0) {
    ASSIGN_OR_RETURN(options.monitor, ParseInterval("--monitor", raw.monitor));
    options.command = Command::kMonitor;
  }
  if (raw.check) options.command = Command::kCheck;
  return options;
}

}  // namespace steward
