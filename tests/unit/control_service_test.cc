// SPDX-License-Identifier: GPL-2.0-only
#include "loader/control_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "nlohmann/json.hpp"
#include "tests/unit/fake_scheduler.h"

namespace steward {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class ControlServiceTest : public ::testing::Test {
 protected:
  ControlServiceTest() { service_.SetScheduler(&scheduler_); }

  Json Ask(const std::string& line) {
    const std::string answer = service_.Handle(line);
    EXPECT_EQ(answer.find('\n'), std::string::npos) << "an answer is one line";
    return Json::parse(answer);
  }

  // The payload of a request that must succeed.
  Json Answer(const std::string& line) {
    Json reply = Ask(line);
    EXPECT_EQ(reply["errno"], 0) << reply;
    return reply["args"]["resp"];
  }

  // The sentence of a request that must fail.
  std::string Refusal(const std::string& line) {
    const Json reply = Ask(line);
    EXPECT_NE(reply["errno"], 0) << reply;
    return reply["args"]["resp"].get<std::string>();
  }

  std::shared_ptr<FakeState> state_ = std::make_shared<FakeState>();
  FakeScheduler scheduler_{state_};
  CpuLists lists_ = {{0, 1, 2}, {0, 1}, {}, {}};
  ControlService service_{"0.1.0", [this] { return absl::StatusOr<CpuLists>(lists_); }};
};

// The shortest useful request.
TEST_F(ControlServiceTest, Status) {
  state_->stats.time_ns = 5000000000;
  state_->stats.start_ns = 2000000000;
  state_->stats.steer.timer_cpu = 1;
  const Json status = Answer(R"({"req":"status"})");
  EXPECT_EQ(status["version"], "0.1.0");
  EXPECT_EQ(status["uptime_s"], 3);
  EXPECT_EQ(status["timer_cpu"], 1);
}

// get shows what is in force, in the form that set takes.
TEST_F(ControlServiceTest, Get) {
  const Json knobs = Answer(R"({"req":"get","args":{}})");
  for (const Knob& knob : Knobs()) EXPECT_EQ(knobs[knob.name], knob.default_value) << knob.name;
  EXPECT_EQ(knobs["timer_cpu"], "auto");
}

// Values may be strings, as in scx_stats, or numbers; the answer is what is in force then.
TEST_F(ControlServiceTest, Set) {
  const Json knobs =
      Answer(R"({"req":"set","args":{"slice_us":"3000","pass_walk":7,"timer_cpu":"1"}})");
  EXPECT_EQ(knobs["slice_us"], 3000);
  EXPECT_EQ(knobs["timer_cpu"], 1);
  EXPECT_EQ(state_->tunables.pass_walk, 7U);
  EXPECT_EQ(state_->tunables_set, 1);
}

// One bad value: a sentence, and the scheduler is not touched.
TEST_F(ControlServiceTest, SetIsAllOrNone) {
  EXPECT_THAT(Refusal(R"({"req":"set","args":{"slice_us":"3000","pass_walk":"0"}})"),
              HasSubstr("pass_walk"));
  EXPECT_EQ(state_->tunables_set, 0);
}

// CPUs come and go: the lists are read for each change.
TEST_F(ControlServiceTest, SetAsksWhichCpusAreOnlineNow) {
  EXPECT_THAT(Refusal(R"({"req":"set","args":{"timer_cpu":"2"}})"), HasSubstr("offline"));
  lists_.online = {0, 1, 2};
  EXPECT_EQ(Answer(R"({"req":"set","args":{"timer_cpu":"2"}})")["timer_cpu"], 2);
}

// Types that are neither string nor whole number, and no value at all.
TEST_F(ControlServiceTest, SetRefusesOddValues) {
  for (const char* const args :
       {R"({"slice_us":1.5})", R"({"slice_us":null})", R"({"slice_us":[3000]})",
        R"({"slice_us":true})", R"({"slice_us":-1})", "{}"}) {
    Refusal(std::string(R"({"req":"set","args":)") + args + "}");
  }
  EXPECT_EQ(state_->tunables_set, 0);
}

// An unknown knob is answered with the names there are.
TEST_F(ControlServiceTest, SetUnknownKnob) {
  EXPECT_THAT(Refusal(R"({"req":"set","args":{"sliceus":"3000"}})"), HasSubstr("slice_us"));
}

// reset brings the defaults back.
TEST_F(ControlServiceTest, Reset) {
  state_->tunables.slice_us = 777;
  state_->tunables.timer_cpu = 1;
  const Json knobs = Answer(R"({"req":"reset"})");
  EXPECT_EQ(knobs["slice_us"], DefaultTunables().slice_us);
  EXPECT_EQ(knobs["timer_cpu"], "auto");
}

// stats carries the counters.
TEST_F(ControlServiceTest, Stats) {
  state_->stats.balance.passes = 42;
  EXPECT_EQ(Answer(R"({"req":"stats"})")["passes"], 42);
}

// schema has each knob with its limits, and the counters.
TEST_F(ControlServiceTest, Schema) {
  const Json schema = Answer(R"({"req":"schema"})");
  EXPECT_EQ(schema["knobs"].size(), Knobs().size() + 1);
  EXPECT_EQ(schema["knobs"][0]["name"], "slice_us");
  EXPECT_TRUE(schema["knobs"][0]["max"].is_number());
  EXPECT_FALSE(schema["stats"].empty());
}

// Whatever arrives, the answer is a sentence, never a crash.
TEST_F(ControlServiceTest, MalformedLines) {
  const std::vector<std::string> lines = {"",
                                          " ",
                                          "x",
                                          "{",
                                          "null",
                                          "[]",
                                          "1",
                                          "\"status\"",
                                          "{}",
                                          R"({"req":1})",
                                          R"({"req":"status","args":[]})",
                                          R"({"req":"status"} trailing)",
                                          std::string("\0\0", 2),
                                          "\xff\xfe",
                                          std::string(5000, '['),
                                          R"({"req":")" + std::string(1000, 'a') + "\"}"};
  for (const std::string& line : lines) Refusal(line);
}

// An unknown command, even one that is no valid UTF-8, is answered with the commands there are.
TEST_F(ControlServiceTest, UnknownCommand) {
  EXPECT_THAT(Refusal(R"({"req":"halt"})"), HasSubstr("status, get, set"));
}

// Between two runs a request is refused as "try again", but the schema is known.
TEST_F(ControlServiceTest, BetweenTwoRuns) {
  service_.SetScheduler(nullptr);
  EXPECT_EQ(Ask(R"({"req":"stats"})")["errno"], EAGAIN);
  EXPECT_EQ(Ask(R"({"req":"schema"})")["errno"], 0);
}

}  // namespace
}  // namespace steward
