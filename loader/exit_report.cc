// SPDX-License-Identifier: GPL-2.0-only
#include "loader/exit_report.h"

#include "absl/strings/str_cat.h"
#include "steward/topology.h"

namespace steward {
namespace {

// enum scx_exit_kind: the same values in every kernel from 6.12 to 7.3. What is not greater than
// kUnregKern is an end that somebody asked for.
constexpr int kUnregBpf = 65;
constexpr int kUnregKern = 66;

// SCX_ECODE_ACT_RESTART
constexpr int64_t kCodeRestart = int64_t{1} << 48;

}  // namespace

ExitAction DecideExit(const ExitRecord& record) {
  const bool unregistered = record.kind == kUnregBpf || record.kind == kUnregKern;
  if (unregistered && (record.code & kCodeRestart) != 0) return ExitAction::kRestart;
  return record.kind <= kUnregKern ? ExitAction::kSucceed : ExitAction::kFail;
}

std::string FormatExitReport(const ExitRecord& record) {
  const std::string rule(80, '=');
  std::string text;
  if (!record.dump.empty()) {
    absl::StrAppend(&text, "\nDEBUG DUMP\n", rule, "\n\n", record.dump, "\n", rule, "\n\n");
  }
  absl::StrAppend(&text, "EXIT: ", record.reason);
  if (record.cpu != STEWARD_NO_CPU) absl::StrAppend(&text, " on CPU ", record.cpu);
  if (!record.message.empty()) absl::StrAppend(&text, " (", record.message, ")");
  absl::StrAppend(&text, "\n");
  return text;
}

}  // namespace steward
