// SPDX-License-Identifier: GPL-2.0-only
// The life of the foreground process: launch, serve, print, end or launch again. One thread, one
// event loop; nothing here is in the path of a scheduling decision.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loader/control_server.h"
#include "loader/control_service.h"
#include "loader/exit_watch.h"
#include "loader/restart_backoff.h"
#include "loader/scheduler.h"

namespace steward {

struct AppConfig {
  steward_tunables tunables = {};
  std::optional<absl::Duration> stats;  // print a line at this interval
  std::string control_socket;           // empty: none
};

class App {
 public:
  // out: statistics. err: the exit report.
  App(AppConfig config, Launcher launcher, ControlService& control, std::ostream& out,
      std::ostream& err);

  // Until a signal or the scheduler's end. The process's exit status; a status if the scheduler
  // could not be launched.
  absl::StatusOr<int> Run();

 private:
  absl::Status Launch();
  void Look();
  void End();
  void Relaunch(absl::Duration after);
  void Stop(int exit_status);
  void OnSignal(int number);
  void OpenControlSocket();
  void PrintStatsLater();

  AppConfig config_;
  Launcher launcher_;
  ControlService& control_;
  std::ostream& out_;
  std::ostream& err_;

  asio::io_context io_;
  asio::signal_set signals_;
  asio::steady_timer stats_timer_;
  asio::steady_timer relaunch_timer_;
  std::unique_ptr<ExitWatch> watch_;
  ControlServer server_;

  std::unique_ptr<Scheduler> scheduler_;
  StatsSnapshot last_stats_;
  RestartBackoff backoff_;
  bool stopping_ = false;  // by a signal: whatever the kernel asks for, no relaunch
  absl::Status failure_;
  int exit_status_ = 0;
};

}  // namespace steward
