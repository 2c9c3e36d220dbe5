// SPDX-License-Identifier: GPL-2.0-only
#include "loader/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "loader/tunables.h"

namespace steward {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::StatusOr<Options> Parse(const std::vector<std::string>& args,
                              const std::optional<std::string>& env = std::nullopt) {
  CpuLists lists;
  lists.possible = {0, 1, 2, 3};
  lists.online = {0, 1, 3};
  return ParseOptions(args, env, lists);
}

std::string Refusal(const std::vector<std::string>& args) {
  const auto options = Parse(args);
  EXPECT_FALSE(options.ok()) << testing::PrintToString(args);
  return std::string(options.status().message());
}

// No flag: run with the defaults.
TEST(Options, Defaults) {
  const auto options = Parse({});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->command, Command::kRun);
  EXPECT_EQ(options->tunables.slice_us, DefaultTunables().slice_us);
  EXPECT_EQ(options->tunables.timer_cpu, STEWARD_NO_CPU);
  EXPECT_EQ(options->timeout_ms, 10000U);
  EXPECT_EQ(options->exit_dump_len, 0U);
  EXPECT_FALSE(options->stats.has_value());
  EXPECT_EQ(options->verbosity, 0);
}

// Every knob of the list has its flag, in both spellings of a value.
TEST(Options, EveryKnobHasAFlag) {
  for (const Knob& knob : Knobs()) {
    const std::string value = std::to_string(knob.default_value);
    const auto options = Parse({KnobFlag(knob.name), value});
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_TRUE(Parse({absl::StrCat(KnobFlag(knob.name), "=", value)}).ok());
    EXPECT_THAT(Refusal({KnobFlag(knob.name), std::to_string(knob.max + 1)}),
                StartsWith(KnobFlag(knob.name) + ": "));
  }
}

// How sleeping load is tracked has a default and three names.
TEST(Options, BlockedLoad) {
  EXPECT_EQ(Parse({})->blocked_load, STEWARD_BLOCKED_RING);
  EXPECT_EQ(Parse({"--blocked-load=atomic"})->blocked_load, STEWARD_BLOCKED_ATOMIC);
  EXPECT_EQ(Parse({"--blocked-load", "none"})->blocked_load, STEWARD_BLOCKED_NONE);
  EXPECT_THAT(Refusal({"--blocked-load=rings"}), HasSubstr("give ring, atomic or none"));
  EXPECT_THAT(Refusal({"--blocked-load="}), StartsWith("--blocked-load"));
}

// Given twice, as by a wrapper that appends, the last counts.
TEST(Options, LastValueCounts) {
  EXPECT_EQ(Parse({"--slice-us=1000", "--slice-us=2000"})->tunables.slice_us, 2000U);
}

// The flags that choose what to do.
TEST(Options, Commands) {
  EXPECT_EQ(Parse({"--check"})->command, Command::kCheck);
  EXPECT_EQ(Parse({"--monitor", "2"})->command, Command::kMonitor);
  EXPECT_EQ(Parse({"--monitor", "2"})->monitor, absl::Seconds(2));
  EXPECT_EQ(*Parse({"--stats", "0.5"})->stats, absl::Milliseconds(500));
  EXPECT_EQ(Parse({"-v", "-v"})->verbosity, 2);
  EXPECT_EQ(Parse({"-vv", "--verbose"})->verbosity, 3);
}

// Texts to print, whatever else is asked.
TEST(Options, Texts) {
  EXPECT_THAT(Parse({"--help"})->text, HasSubstr("--balance-fast-us"));
  EXPECT_THAT(Parse({"-h", "--stats", "1"})->text, HasSubstr("--timer-cpu"));
  EXPECT_THAT(Parse({"--help-stats"})->text, HasSubstr("summoned_passes"));
  EXPECT_THAT(Parse({"-V"})->text, StartsWith("scx_steward 0."));
  EXPECT_EQ(Parse({"--version"})->command, Command::kPrintText);
}

// The help fits a terminal.
TEST(Options, HelpIsNarrow) {
  const std::string help = Parse({"--help"})->text;
  size_t begin = 0;
  for (size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', begin)) {
    EXPECT_LE(end - begin, 120U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

// Unknown words are named.
TEST(Options, UnknownArguments) {
  EXPECT_THAT(Refusal({"--frobnicate"}), HasSubstr("'--frobnicate'"));
  EXPECT_THAT(Refusal({"word"}), HasSubstr("'word'"));
  EXPECT_THAT(Refusal({"-x"}), HasSubstr("'-x'"));
  EXPECT_THAT(Refusal({"--slice"}), HasSubstr("'--slice'"));
}

// A flag without its value.
TEST(Options, MissingValue) {
  EXPECT_THAT(Refusal({"--slice-us"}), StartsWith("--slice-us: the value is missing"));
  EXPECT_THAT(Refusal({"--stats"}), StartsWith("--stats: "));
}

// Each complaint is one sentence that begins with the flag.
TEST(Options, BadValues) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"--slice-us", {"", "x", "499", "-5", "1.5", "5000us", "100001"}},
      {"--timer-cpu", {"", "x", "-1", "4", "2", "1.5", "0,1"}},
      {"--stats", {"", "x", "0", "-1", "nan", "inf", "0.01", "86401"}},
      {"--monitor", {"", "0", "x"}},
      {"--timeout-ms", {"", "0", "30001", "x", "-1", "4294967297"}},
      {"--exit-dump-len", {"", "-1", "32769", "x"}}};
  for (const auto& [flag, values] : cases) {
    for (const std::string& value : values) {
      const std::string sentence = Refusal({absl::StrCat(flag, "=", value)});
      EXPECT_THAT(sentence, StartsWith(flag + ": ")) << value;
      EXPECT_THAT(sentence, Not(HasSubstr("\n"))) << value;
    }
  }
}

// A timer CPU that is offline or absent is answered with the CPUs online.
TEST(Options, TimerCpu) {
  EXPECT_EQ(Parse({"--timer-cpu", "3"})->tunables.timer_cpu, 3);
  EXPECT_EQ(Parse({"--timer-cpu", "auto"})->tunables.timer_cpu, STEWARD_NO_CPU);
  EXPECT_THAT(Refusal({"--timer-cpu", "2"}), HasSubstr("0-1,3"));
  EXPECT_THAT(Refusal({"--timer-cpu", "-1"}), HasSubstr("0-1,3"));
}

// Periods must agree with each other.
TEST(Options, OrderOfPeriods) {
  EXPECT_THAT(Refusal({"--balance-fast-us", "90000"}), HasSubstr("balance_slow_us"));
  EXPECT_TRUE(Parse({"--balance-fast-us", "90000", "--balance-slow-us", "90000"}).ok());
}

// The environment overrides the flag, and is judged as strictly.
TEST(Options, TimeoutFromTheEnvironment) {
  EXPECT_EQ(Parse({"--timeout-ms=5000"})->timeout_ms, 5000U);
  EXPECT_EQ(Parse({"--timeout-ms=5000"}, "7000")->timeout_ms, 7000U);
  EXPECT_THAT(std::string(Parse({}, "soon").status().message()), StartsWith("SCX_TIMEOUT_MS: "));
}

}  // namespace
}  // namespace steward
