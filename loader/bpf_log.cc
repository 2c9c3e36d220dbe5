// SPDX-License-Identifier: GPL-2.0-only
#include "loader/bpf_log.h"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "spdlog/spdlog.h"

namespace steward {
namespace {

// The verifier explains itself in its last lines; the first few name the program.
constexpr size_t kTailVerbose = 40;
constexpr size_t kTail = 6;

BpfLog* current = nullptr;

int Print(libbpf_print_level level, const char* format, va_list args) {
  if (current == nullptr) return 0;
  va_list again;
  va_copy(again, args);
  const int size = std::vsnprintf(nullptr, 0, format, args);
  std::vector<char> buffer(size > 0 ? static_cast<size_t>(size) + 1 : 1);
  std::vsnprintf(buffer.data(), buffer.size(), format, again);
  va_end(again);
  current->Add(level, buffer.data());
  return 0;
}

}  // namespace

BpfLog::BpfLog(int verbosity) : verbosity_(verbosity) {
  current = this;
  libbpf_set_print(Print);
}

BpfLog::~BpfLog() {
  libbpf_set_print(nullptr);
  current = nullptr;
}

void BpfLog::Add(int level, const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (level == LIBBPF_WARN) {
      lines_.emplace_back(line);
      if (lines_.size() > kTailVerbose) lines_.pop_front();
    } else if (level == LIBBPF_DEBUG && verbosity_ < 2) {
      continue;
    }
    spdlog::debug("{}", std::string(line));
  }
}

std::string BpfLog::Tail() const {
  const size_t wanted = verbosity_ > 0 ? kTailVerbose : kTail;
  std::string text;
  for (size_t i = lines_.size() > wanted ? lines_.size() - wanted : 0; i < lines_.size(); i++) {
    absl::StrAppend(&text, "\n  ", lines_[i]);
  }
  return text;
}

}  // namespace steward
