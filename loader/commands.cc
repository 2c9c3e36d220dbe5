// SPDX-License-Identifier: GPL-2.0-only
#include "loader/commands.h"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "loader/app.h"
#include "loader/base/status_macros.h"
#include "loader/bpf_scheduler.h"
#include "loader/control_client.h"
#include "loader/control_service.h"
#include "loader/kernel_probe.h"
#include "loader/stats_format.h"
#include "loader/stats_json.h"
#include "loader/topology.h"
#include "loader/version.h"
#include "spdlog/spdlog.h"

namespace steward {
namespace {

// The kernel allows letters, digits, '_' and '.' only.
std::string OpsName() {
  std::string name = absl::StrCat("steward_", STEWARD_VERSION, "_", STEWARD_TRIPLE);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.') c = '_';
  }
  return name;
}

absl::StatusOr<int> Check() {
  const std::vector<Finding> findings = ProbeKernel("", ProbeDepth::kFull);
  std::cout << FormatCheck(findings);
  return RefuseIfMissing(findings).ok() ? 0 : 1;
}

absl::StatusOr<int> RunScheduler(const Options& options) {
  const std::vector<Finding> findings = ProbeKernel("", ProbeDepth::kStart);
  RETURN_IF_ERROR(RefuseIfMissing(findings));
  for (const Finding& finding : findings) {
    if (finding.verdict == Verdict::kDegraded) spdlog::info("without {}", FormatFinding(finding));
  }

  LaunchConfig launch;
  launch.ops_name = OpsName();
  launch.timeout_ms = options.timeout_ms;
  launch.exit_dump_len = options.exit_dump_len;
  launch.blocked_load = options.blocked_load;
  launch.verbosity = options.verbosity;
  ControlService control(STEWARD_VERSION, [] { return ReadCpuLists(""); });
  App app(
      {options.tunables, options.stats, kControlSocket},
      [launch](const steward_tunables& tunables) { return BpfScheduler::Launch(launch, tunables); },
      control, std::cout, std::cerr);
  return app.Run();
}

absl::StatusOr<StatsSnapshot> FetchStats() {
  ASSIGN_OR_RETURN(ControlClient client, ControlClient::Connect(kControlSocket));
  ASSIGN_OR_RETURN(const nlohmann::ordered_json json, client.Call("stats"));
  return StatsFromJson(json);
}

// Until a signal ends the process. Survives the scheduler's end and waits for the next one.
absl::StatusOr<int> Monitor(absl::Duration interval) {
  StatsSnapshot last;
  bool waiting = false;
  for (;; absl::SleepFor(interval)) {
    absl::StatusOr<StatsSnapshot> now = FetchStats();
    if (absl::IsUnavailable(now.status())) {
      if (!waiting) spdlog::info("waiting for scx_steward");
      waiting = true;
      continue;
    }
    RETURN_IF_ERROR(now.status());
    waiting = false;
    // Another scheduler's numbers began anew.
    if (last.start_ns != now->start_ns) last = AtStart(*now);
    std::cout << FormatStatsLine(Difference(last, *now)) << std::endl;
    if (!std::cout) return 1;  // main() tells of it
    last = *std::move(now);
  }
}

}  // namespace

absl::StatusOr<int> RunCommand(const Options& options) {
  switch (options.command) {
    case Command::kPrintText:
      std::cout << options.text;
      return 0;
    case Command::kCheck:
      return Check();
    case Command::kMonitor:
      return Monitor(options.monitor);
    case Command::kRun:
      return RunScheduler(options);
  }
  return absl::InternalError("unknown command");
}

}  // namespace steward
