// SPDX-License-Identifier: GPL-2.0-only
// libbpf's messages: passed on to our log, and the last lines of a failed load kept for the
// status. libbpf knows one print function per process, so at most one BpfLog may live at a time.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace steward {

class BpfLog {
 public:
  // verbosity: how often -v was given; 2 shows libbpf's debug messages.
  explicit BpfLog(int verbosity);
  ~BpfLog();
  BpfLog(const BpfLog&) = delete;
  BpfLog& operator=(const BpfLog&) = delete;

  // The last lines of warnings, among them the verifier's, each with a line break before it. Few,
  // unless verbose.
  [[nodiscard]] std::string Tail() const;

  void Add(int level, const std::string& text);

 private:
  int verbosity_;
  std::deque<std::string> lines_;
};

}  // namespace steward
