// SPDX-License-Identifier: GPL-2.0-only
// stewardctl against the real service over a real socket, with a scheduler that is not real.
#include "loader/ctl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "loader/control_server.h"
#include "loader/control_service.h"
#include "nlohmann/json.hpp"
#include "tests/unit/fake_root.h"
#include "tests/unit/fake_scheduler.h"

namespace steward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CtlTest : public ::testing::Test {
 protected:
  CtlTest() : path_(root_.path() + "/control.sock") {
    state_->stats.cpus.resize(2);
    state_->stats.balance.passes = 5;
    service_.SetScheduler(&scheduler_);
    EXPECT_TRUE(server_.Listen(path_).ok());
    thread_ = std::thread([this] { io_.run(); });
  }
  ~CtlTest() override {
    io_.stop();
    thread_.join();
  }

  absl::Status Run(std::vector<std::string> args) {
    out_.str("");
    args.insert(args.begin(), {"--socket", path_});
    return RunCtl(args, out_);
  }

  std::string Output(const std::vector<std::string>& args) {
    const absl::Status status = Run(args);
    EXPECT_TRUE(status.ok()) << status;
    return out_.str();
  }

  std::string Refusal(const std::vector<std::string>& args) {
    const absl::Status status = Run(args);
    EXPECT_FALSE(status.ok()) << out_.str();
    return std::string(status.message());
  }

  FakeRoot root_;
  std::string path_;
  std::shared_ptr<FakeState> state_ = std::make_shared<FakeState>();
  FakeScheduler scheduler_{state_};
  ControlService service_{
      "0.1.0", [] { return absl::StatusOr<CpuLists>(CpuLists{{0, 1}, {0, 1}, {}, {}}); }};
  asio::io_context io_;
  std::string answer_;  // instead of the service's
  ControlServer server_{io_, [this](absl::string_view line) {
                          return answer_.empty() ? service_.Handle(line) : answer_;
                        }};
  std::thread thread_;
  std::ostringstream out_;
};

// status is a few lines for people.
TEST_F(CtlTest, Status) { EXPECT_THAT(Output({"status"}), HasSubstr("version: 0.1.0\n")); }

// get prints all knobs as set takes them, or one value alone for scripts.
TEST_F(CtlTest, Get) {
  EXPECT_THAT(Output({"get"}), AllOf(HasSubstr("slice_us=5000\n"), HasSubstr("timer_cpu=auto\n")));
  EXPECT_EQ(Output({"get", "slice_us"}), "5000\n");
  EXPECT_EQ(Output({"get", "timer_cpu"}), "auto\n");
  EXPECT_THAT(Refusal({"get", "slice"}), HasSubstr("slice_us"));
}

// set shows what is in force now.
TEST_F(CtlTest, Set) {
  EXPECT_EQ(Output({"set", "slice_us=3000", "timer_cpu=1"}), "slice_us=3000\ntimer_cpu=1\n");
  EXPECT_EQ(state_->tunables.slice_us, 3000U);
}

// What set refuses, and that it refuses as a whole.
TEST_F(CtlTest, SetRefuses) {
  EXPECT_THAT(Refusal({"set"}), HasSubstr("KNOB=VALUE"));
  EXPECT_THAT(Refusal({"set", "slice_us"}), HasSubstr("KNOB=VALUE"));
  EXPECT_THAT(Refusal({"set", "=5"}), HasSubstr("KNOB=VALUE"));
  EXPECT_THAT(Refusal({"set", "slice_us="}), HasSubstr("whole number"));
  EXPECT_THAT(Refusal({"set", "slice_us=3000", "pass_walk=0"}), HasSubstr("from 1 to"));
  EXPECT_THAT(Refusal({"set", "nothing=1"}), HasSubstr("knobs are"));
  EXPECT_EQ(state_->tunables_set, 0);
}

// reset answers with the defaults.
TEST_F(CtlTest, Reset) {
  Run({"set", "slice_us=3000"}).IgnoreError();
  EXPECT_THAT(Output({"reset"}), HasSubstr("slice_us=5000\n"));
}

// stats once: a line for people, or one JSON object on one line.
TEST_F(CtlTest, Stats) {
  EXPECT_THAT(Output({"stats"}), AllOf(StartsWith("timer cpu0"), HasSubstr("passes 5")));
  const std::string text = Output({"stats", "--json"});
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(text)["passes"], 5);
}

// schema is JSON.
TEST_F(CtlTest, Schema) {
  EXPECT_FALSE(nlohmann::json::parse(Output({"schema"}))["knobs"].empty());
}

// Wrong command lines: one sentence each.
TEST_F(CtlTest, WrongCommandLines) {
  EXPECT_THAT(Refusal({}), HasSubstr("--help"));
  EXPECT_THAT(Refusal({"halt"}), HasSubstr("'halt'"));
  EXPECT_THAT(Refusal({"status", "now"}), HasSubstr("'now'"));
  EXPECT_THAT(Refusal({"get", "a", "b"}), HasSubstr("'b'"));
  EXPECT_THAT(Refusal({"stats", "--interval"}), HasSubstr("--interval"));
  for (const char* const interval : {"0", "x", "-1", "61", "nan"}) {
    EXPECT_THAT(Refusal({"stats", "--interval", interval}), StartsWith("--interval: ")) << interval;
  }
}

// Help and version need no scheduler.
TEST_F(CtlTest, HelpAndVersion) {
  EXPECT_THAT(Output({"--help"}), HasSubstr("Subcommands"));
  EXPECT_THAT(Output({"set", "--help"}), HasSubstr("stewardctl set"));
  EXPECT_THAT(Output({"--version"}), StartsWith("stewardctl 0."));
}

// No scheduler: said so.
TEST_F(CtlTest, NotRunning) {
  std::ostringstream out;
  const absl::Status status = RunCtl({"--socket", root_.path() + "/none", "status"}, out);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not running"));
}

// What cannot be a scheduler's socket: said so.
TEST_F(CtlTest, NoSocket) {
  for (const std::string& path : {std::string(), std::string("/"), std::string("/etc/passwd")}) {
    std::ostringstream out;
    const absl::Status status = RunCtl({"--socket", path, "status"}, out);
    EXPECT_EQ(status.message(), "'" + path + "' is no socket");
  }
}

// Another program's socket, whose answers look like ours at first: no command takes them.
TEST_F(CtlTest, AnswerThatIsNoObject) {
  const std::vector<std::vector<std::string>> commands = {
      {"status"}, {"get"}, {"set", "a=1"}, {"reset"}, {"schema"}, {"stats", "--json"}};
  for (const char* const answer : {"\"done\"", "[1]", "null", "7"}) {
    answer_ = absl::StrCat("{\"errno\":0,\"args\":{\"resp\":", answer, "}}");
    for (const std::vector<std::string>& command : commands) {
      EXPECT_THAT(Refusal(command), HasSubstr("makes no sense")) << answer;
    }
  }
}

}  // namespace
}  // namespace steward
