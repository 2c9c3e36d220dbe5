// SPDX-License-Identifier: GPL-2.0-only
#include "loader/tunables.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "loader/base/status_macros.h"
#include "loader/cpu_list.h"

namespace steward {
namespace {

constexpr Knob kKnobs[] = {
#define STEWARD_TUNABLE(name, unit, min, max, def, why) \
  {#name, unit, min, max, def, why, &steward_tunables::name},
#include "steward/tunables.def"
#undef STEWARD_TUNABLE
};

const Knob* FindKnob(absl::string_view name) {
  const Knob* const knob = std::find_if(std::begin(kKnobs), std::end(kKnobs),
                                        [&](const Knob& k) { return k.name == name; });
  return knob == std::end(kKnobs) ? nullptr : knob;
}

absl::Status SetTimerCpu(absl::string_view value, absl::string_view label, const CpuLists& lists,
                         steward_tunables& tunables) {
  if (value == "auto") {
    tunables.timer_cpu = STEWARD_NO_CPU;
    return absl::OkStatus();
  }
  int cpu = 0;
  const char* fault = nullptr;
  if (!absl::SimpleAtoi(value, &cpu)) {
    fault = "is not the number of a CPU";
  } else if (!Contains(lists.possible, cpu)) {
    fault = "is no CPU of this machine";
  } else if (!Contains(lists.online, cpu)) {
    fault = "is offline";
  } else {
    tunables.timer_cpu = cpu;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(label, ": '", value, "' ", fault,
                                                 "; allowed are auto and the CPUs online now, ",
                                                 FormatCpuList(lists.online)));
}

}  // namespace

std::span<const Knob> Knobs() { return kKnobs; }

steward_tunables DefaultTunables() {
  steward_tunables tunables = {};
  for (const Knob& knob : kKnobs) tunables.*knob.field = knob.default_value;
  tunables.timer_cpu = STEWARD_NO_CPU;
  return tunables;
}

std::string KnobFlag(absl::string_view knob) {
  return absl::StrCat("--", absl::StrReplaceAll(knob, {{"_", "-"}}));
}

absl::Status UnknownKnob(absl::string_view name) {
  const auto append = [](std::string* out, const Knob& knob) { absl::StrAppend(out, knob.name); };
  return absl::NotFoundError(absl::StrCat("there is no knob '", name, "'; knobs are ",
                                          absl::StrJoin(kKnobs, ", ", append), ", ",
                                          kTimerCpuKnob));
}

absl::Status SetKnob(absl::string_view knob, absl::string_view value, absl::string_view label,
                     const CpuLists& lists, steward_tunables& tunables) {
  if (knob == kTimerCpuKnob) return SetTimerCpu(value, label, lists, tunables);
  const Knob* const found = FindKnob(knob);
  if (found == nullptr) return UnknownKnob(knob);
  const std::string allowed = absl::StrCat("allowed are whole numbers from ", found->min, " to ",
                                           found->max, " (", found->unit, ")");
  uint64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, ": '", value, "' is not a whole number; ", allowed));
  }
  if (number < found->min || number > found->max) {
    return absl::OutOfRangeError(absl::StrCat(label, ": ", number, " is out of range; ", allowed));
  }
  tunables.*found->field = number;
  return absl::OkStatus();
}

absl::Status CheckOrder(const steward_tunables& tunables) {
  if (tunables.balance_fast_us <= tunables.balance_slow_us &&
      tunables.balance_slow_us <= tunables.balance_parked_us) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("balance_fast_us (", tunables.balance_fast_us, ") <= balance_slow_us (",
                   tunables.balance_slow_us, ") <= balance_parked_us (", tunables.balance_parked_us,
                   ") does not hold; the pass must not come more often when less waits"));
}

absl::Status ApplyChanges(const std::map<std::string, std::string>& changes, const CpuLists& lists,
                          steward_tunables& tunables) {
  steward_tunables changed = tunables;
  for (const auto& [knob, value] : changes) {
    RETURN_IF_ERROR(SetKnob(knob, value, knob, lists, changed));
  }
  RETURN_IF_ERROR(CheckOrder(changed));
  tunables = changed;
  return absl::OkStatus();
}

}  // namespace steward
