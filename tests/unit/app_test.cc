// SPDX-License-Identifier: GPL-2.0-only
// The life of the process with schedulers that end by themselves, so that nothing waits.
#include "loader/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "tests/unit/fake_root.h"
#include "tests/unit/fake_scheduler.h"

namespace steward {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRestart = int64_t{1} << 48;

ExitRecord Ended(int kind, int64_t code) {
  ExitRecord record;
  record.kind = kind;
  record.code = code;
  record.reason = "the end";
  return record;
}

// A pipe whose reader has left; then somebody ends the scheduler.
class DeadEnd : public std::streambuf {
 public:
  [[nodiscard]] int written() const { return written_; }

 protected:
  int overflow(int /*c*/) override {
    written_++;
    std::raise(SIGTERM);
    return traits_type::eof();
  }

 private:
  int written_ = 0;
};

class AppTest : public ::testing::Test {
 protected:
  // The states of the schedulers that the launcher will hand out, in order.
  std::shared_ptr<FakeState> Next(const ExitRecord& exit) {
    const auto state = std::make_shared<FakeState>();
    state->exit = exit;
    states_.push_back(state);
    return state;
  }

  absl::StatusOr<int> Run() {
    App app(
        {DefaultTunables(), stats_, root_.path() + "/run/control.sock"},
        [this](const steward_tunables& tunables) { return Launch(tunables); }, control_, out_,
        err_);
    return app.Run();
  }

  absl::StatusOr<std::unique_ptr<Scheduler>> Launch(const steward_tunables& tunables) {
    if (launches_ == states_.size()) return absl::UnknownError("no more schedulers");
    const std::shared_ptr<FakeState> state = states_[launches_++];
    state->tunables = tunables;
    if (change_slice_) state->tunables.slice_us++;
    if (on_launch_) on_launch_();
    return std::unique_ptr<Scheduler>(new FakeScheduler(state));
  }

  FakeRoot root_;
  ControlService control_{"0", [] { return absl::StatusOr<CpuLists>(CpuLists()); }};
  std::vector<std::shared_ptr<FakeState>> states_;
  size_t launches_ = 0;
  std::optional<absl::Duration> stats_;
  bool change_slice_ = false;
  std::function<void()> on_launch_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// A launch that fails is the process's failure, with its sentence.
TEST_F(AppTest, LaunchFails) { EXPECT_EQ(Run().status().message(), "no more schedulers"); }

// An enable that failed in the kernel shows right after the attach: report, status 1.
TEST_F(AppTest, EndsWithAnError) {
  const auto state = Next(Ended(1024, 0));
  EXPECT_EQ(*Run(), 1);
  EXPECT_EQ(err_.str(), "EXIT: the end\n");
  EXPECT_EQ(state->detached, 1);
}

// An end that somebody asked for is status 0.
TEST_F(AppTest, EndsCleanly) {
  Next(Ended(66, 0));
  EXPECT_EQ(*Run(), 0);
}

// The kernel's request: load again in the same process, report each end.
TEST_F(AppTest, Restarts) {
  Next(Ended(66, kRestart));
  Next(Ended(66, kRestart));
  Next(Ended(64, 0));
  EXPECT_EQ(*Run(), 0);
  EXPECT_EQ(launches_, 3U);
  EXPECT_EQ(err_.str(), "EXIT: the end\nEXIT: the end\nEXIT: the end\n");
}

// Knobs changed at run time hold in the next run.
TEST_F(AppTest, RestartKeepsTheKnobs) {
  Next(Ended(66, kRestart));
  const auto second = Next(Ended(64, 0));
  change_slice_ = true;
  EXPECT_EQ(*Run(), 0);
  EXPECT_EQ(second->tunables.slice_us, DefaultTunables().slice_us + 2);
}

// A restart that cannot load ends the process with the reason.
TEST_F(AppTest, RestartFails) {
  Next(Ended(66, kRestart));
  EXPECT_EQ(Run().status().message(), "no more schedulers");
}

// SIGTERM, SIGINT and SIGHUP: detach, report, status 0; a signal that comes during the load counts.
TEST_F(AppTest, Signals) {
  std::signal(SIGHUP, SIG_DFL);  // whatever the tests run under
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    err_.str("");
    const auto state = Next(ExitRecord());
    state->after_detach = Ended(64, 0);
    on_launch_ = [signal] { std::raise(signal); };
    EXPECT_EQ(*Run(), 0);
    EXPECT_EQ(state->detached, 1);
    EXPECT_EQ(err_.str(), "EXIT: the end\n");
  }
}

// Under nohup, and when the reader of the output leaves, the scheduler goes on.
TEST_F(AppTest, SignalsThatAreIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  for (const int signal : {SIGHUP, SIGPIPE}) {
    Next(Ended(66, kRestart));
    Next(Ended(64, 0));
    on_launch_ = [signal] { std::raise(signal); };
    EXPECT_EQ(*Run(), 0);
  }
  EXPECT_EQ(launches_, 4U);
}

// Statistics that nobody takes: no more of them, and the end is as clean as ever.
TEST_F(AppTest, StatsThatAreLost) {
  const auto state = Next(ExitRecord());
  state->after_detach = Ended(64, 0);
  stats_ = absl::Milliseconds(10);
  DeadEnd reader;
  static_cast<std::ostream&>(out_).rdbuf(&reader);
  EXPECT_EQ(*Run(), 0);
  EXPECT_EQ(reader.written(), 1);
  EXPECT_TRUE(out_.good());
}

// A signal wins over a restart that the kernel wants at the same moment.
TEST_F(AppTest, SignalDuringRestart) {
  const auto state = Next(ExitRecord());
  state->after_detach = Ended(66, kRestart);
  on_launch_ = [] { std::raise(SIGTERM); };
  EXPECT_EQ(*Run(), 0);
  EXPECT_EQ(launches_, 1U);
}

// An error found while stopping is not hidden by the signal.
TEST_F(AppTest, SignalDuringError) {
  const auto state = Next(ExitRecord());
  state->after_detach = Ended(1026, 0);
  on_launch_ = [] { std::raise(SIGTERM); };
  EXPECT_EQ(*Run(), 1);
}

// Without a socket folder the scheduler runs all the same.
TEST_F(AppTest, NoSocketFolder) {
  root_.Write("/run", "a file, not a folder");
  Next(Ended(64, 0));
  EXPECT_EQ(*Run(), 0);
}

}  // namespace
}  // namespace steward
