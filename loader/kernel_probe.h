// SPDX-License-Identifier: GPL-2.0-only
// Can this machine run scx_steward, and what is missing? Asked before every start, and by --check.
// Reads files below a given root only, and changes nothing.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace steward {

enum class Verdict {
  kOk,
  kDegraded,  // runs, with less
  kMissing,   // cannot run
};

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string what;
  std::string why;  // a clause that is clear without `what`; empty if ok
  std::string fix;  // what to do; empty if ok or nothing can be done
};

enum class ProbeDepth {
  kStart,  // what decides whether to start
  kFull,   // also what takes long to find out (the kernel's table of symbols)
};

// root: "" on a real machine.
std::vector<Finding> ProbeKernel(const std::string& root, ProbeDepth depth);

// One sentence if anything is missing.
absl::Status RefuseIfMissing(const std::vector<Finding>& findings);

// "what: why; fix", without the empty parts.
std::string FormatFinding(const Finding& finding);

// What --check prints: one line each, and the conclusion.
std::string FormatCheck(const std::vector<Finding>& findings);

// May BPF programs read kernel memory, as needed to find the timekeeping CPU? Not in a kernel
// locked down for confidentiality.
bool MayReadKernelMemory(const std::string& root);

// "6.12.95-amd64"
std::string KernelRelease(const std::string& root);

}  // namespace steward
