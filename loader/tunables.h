// SPDX-License-Identifier: GPL-2.0-only
// The knobs of tunables.def: their table, and the one place that judges their values. Used for
// flags and for changes at run time alike.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "loader/topology.h"
#include "steward/abi.h"

namespace steward {

struct Knob {
  const char* name;
  const char* unit;
  uint64_t min;
  uint64_t max;
  uint64_t default_value;
  const char* why;
  __u64 steward_tunables::* field;
};

// The knob that is no number of the list: a CPU, or "auto".
inline constexpr char kTimerCpuKnob[] = "timer_cpu";
inline constexpr char kTimerCpuWhy[] =
    "the CPU that does all load balancing; auto: the kernel's timekeeping CPU, else the first that "
    "is not nohz_full";

std::span<const Knob> Knobs();

steward_tunables DefaultTunables();

// "slice_us" as a flag: "--slice-us".
std::string KnobFlag(absl::string_view knob);

// A sentence that lists the knobs there are.
absl::Status UnknownKnob(absl::string_view name);

// Writes one value after checking its form and range. `label` is how the user called the knob; it
// begins the sentence of an error. lists: the machine's CPUs; the timer CPU must be online.
absl::Status SetKnob(absl::string_view knob, absl::string_view value, absl::string_view label,
                     const CpuLists& lists, steward_tunables& tunables);

// Do the values agree with each other?
absl::Status CheckOrder(const steward_tunables& tunables);

// Applies all changes to `tunables`, or none and says why not.
absl::Status ApplyChanges(const std::map<std::string, std::string>& changes, const CpuLists& lists,
                          steward_tunables& tunables);

}  // namespace steward
