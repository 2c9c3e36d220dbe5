// SPDX-License-Identifier: GPL-2.0-only
#include "loader/exit_report.h"

#include <gtest/gtest.h>

namespace steward {
namespace {

constexpr int64_t kRestart = int64_t{1} << 48;
constexpr int64_t kHotplug = int64_t{1} << 32;

ExitRecord Record(int kind, int64_t code) {
  ExitRecord record;
  record.kind = kind;
  record.code = code;
  record.reason = "reason";
  return record;
}

// Ends that somebody asked for are success: done, detached, detached by BPF or by the kernel.
TEST(ExitReport, AskedForIsSuccess) {
  for (const int kind : {1, 64, 65, 66}) {
    EXPECT_EQ(DecideExit(Record(kind, 0)), ExitAction::kSucceed) << kind;
  }
}

// SysRq, errors, errors from BPF, stalls are failures, whatever the code says.
TEST(ExitReport, TheRestIsFailure) {
  for (const int kind : {67, 68, 69, 1024, 1025, 1026, 1027, 1028}) {
    EXPECT_EQ(DecideExit(Record(kind, 0)), ExitAction::kFail) << kind;
    EXPECT_EQ(DecideExit(Record(kind, kRestart)), ExitAction::kFail) << kind;
  }
}

// Restart needs the action bit and an unregistration by BPF or the kernel.
TEST(ExitReport, RestartOnTheCodeOnly) {
  EXPECT_EQ(DecideExit(Record(65, kRestart)), ExitAction::kRestart);
  EXPECT_EQ(DecideExit(Record(66, kRestart | kHotplug)), ExitAction::kRestart);
  EXPECT_EQ(DecideExit(Record(66, kHotplug)), ExitAction::kSucceed);
  EXPECT_EQ(DecideExit(Record(64, kRestart)), ExitAction::kSucceed);
}

// A clean end is one line.
TEST(ExitReport, ReasonOnly) { EXPECT_EQ(FormatExitReport(Record(64, 0)), "EXIT: reason\n"); }

// The form of the other scx tools, to the letter: scripts look for it.
TEST(ExitReport, EverythingKnown) {
  ExitRecord record = Record(1026, 0);
  record.cpu = 3;
  record.message = "a task did not run";
  record.dump = "CPU 0\n";
  const std::string rule =
      "================================================================================";
  EXPECT_EQ(FormatExitReport(record), "\nDEBUG DUMP\n" + rule + "\n\nCPU 0\n\n" + rule +
                                          "\n\nEXIT: reason on CPU 3 (a task did not run)\n");
}

}  // namespace
}  // namespace steward
