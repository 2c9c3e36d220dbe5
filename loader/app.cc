// SPDX-License-Identifier: GPL-2.0-only
#include "loader/app.h"

#include <asio/post.hpp>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "loader/base/status_macros.h"
#include "loader/exit_report.h"
#include "loader/service.h"
#include "loader/stats_format.h"
#include "spdlog/spdlog.h"

namespace steward {

App::App(AppConfig config, Launcher launcher, ControlService& control, std::ostream& out,
         std::ostream& err)
    : config_(std::move(config)),
      launcher_(std::move(launcher)),
      control_(control),
      out_(out),
      err_(err),
      signals_(io_, SIGINT, SIGTERM),
      stats_timer_(io_),
      relaunch_timer_(io_),
      server_(io_, [&control](absl::string_view line) { return control.Handle(line); }) {}

absl::StatusOr<int> App::Run() {
  // Whoever reads the statistics or the log may leave; the scheduler stays.
  std::signal(SIGPIPE, SIG_IGN);
  // nohup has it ignored, and then it stays so.
  if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) signals_.add(SIGHUP);
  signals_.async_wait([this](const std::error_code& error, int number) {
    if (!error) OnSignal(number);
  });
  // Watching begins before the launch, so that no end is missed.
  watch_ = std::make_unique<ExitWatch>(io_, [this] { Look(); });
  RETURN_IF_ERROR(Launch());
  OpenControlSocket();
  NotifyReady();
  if (config_.stats) PrintStatsLater();
  io_.run();
  RETURN_IF_ERROR(failure_);
  return exit_status_;
}

absl::Status App::Launch() {
  ASSIGN_OR_RETURN(scheduler_, launcher_(config_.tunables));
  last_stats_ = scheduler_->Stats();
  control_.SetScheduler(scheduler_.get());
  if (scheduler_->Exit().kind == 0) {
    spdlog::info("scheduling; CPU {} balances for all", last_stats_.steer.timer_cpu);
  }
  // It may have ended already.
  asio::post(io_, [this] { Look(); });
  return absl::OkStatus();
}

void App::Look() {
  if (scheduler_ != nullptr && scheduler_->Exit().kind != 0) End();
}

// The scheduler has ended by itself, or is to end now.
void App::End() {
  // What was set at run time holds for the next run as well.
  config_.tunables = scheduler_->Tunables();
  control_.SetScheduler(nullptr);
  scheduler_->Detach();
  const ExitRecord record = scheduler_->Exit();
  const StatsSnapshot stats = scheduler_->Stats();
  scheduler_.reset();
  err_ << FormatExitReport(record) << std::flush;

  const ExitAction action = DecideExit(record);
  if (action == ExitAction::kRestart && !stopping_) {
    Relaunch(backoff_.Next(absl::Nanoseconds(stats.time_ns - stats.start_ns)));
  } else {
    Stop(action == ExitAction::kFail ? 1 : 0);
  }
}

void App::Relaunch(absl::Duration after) {
  spdlog::info("the kernel asks for a restart; loading again in {} ms",
               absl::ToInt64Milliseconds(after));
  relaunch_timer_.expires_after(absl::ToChronoNanoseconds(after));
  relaunch_timer_.async_wait([this](const std::error_code& error) {
    if (error) return;
    failure_ = Launch();
    if (!failure_.ok()) Stop(1);
  });
}

void App::OnSignal(int number) {
  spdlog::info("{}: ending", strsignal(number));
  stopping_ = true;
  if (scheduler_ != nullptr) {
    End();
  } else {
    Stop(0);  // between two runs
  }
}

void App::Stop(int exit_status) {
  exit_status_ = exit_status;
  NotifyStopping();
  io_.stop();
}

void App::OpenControlSocket() {
  if (config_.control_socket.empty()) return;
  if (const absl::Status status = server_.Listen(config_.control_socket); !status.ok()) {
    spdlog::warn("no control socket, so stewardctl cannot reach this process: {}",
                 std::string(status.message()));
  }
}

void App::PrintStatsLater() {
  stats_timer_.expires_after(absl::ToChronoNanoseconds(*config_.stats));
  stats_timer_.async_wait([this](const std::error_code& error) {
    if (error) return;
    if (scheduler_ != nullptr) {
      StatsSnapshot now = scheduler_->Stats();
      out_ << FormatStatsLine(Difference(last_stats_, now)) << std::endl;
      last_stats_ = std::move(now);
    }
    if (!out_) {
      spdlog::warn("no more statistics: the output cannot be written");
      out_.clear();  // said, so it is no failure at the end
      return;
    }
    PrintStatsLater();
  });
}

}  // namespace steward
