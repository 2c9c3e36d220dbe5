// SPDX-License-Identifier: GPL-2.0-only
#include "loader/restart_backoff.h"

#include <algorithm>

namespace steward {
namespace {

// A run of this length was no part of a storm.
constexpr absl::Duration kCalm = absl::Seconds(10);
constexpr absl::Duration kFirstDelay = absl::Milliseconds(50);
// Bounds how long the machine is without us after the storm has passed.
constexpr absl::Duration kLongestDelay = absl::Seconds(2);

}  // namespace

absl::Duration RestartBackoff::Next(absl::Duration ran) {
  if (ran >= kCalm) delay_ = absl::ZeroDuration();
  const absl::Duration wait = delay_;
  delay_ = std::min(std::max(2 * delay_, kFirstDelay), kLongestDelay);
  return wait;
}

}  // namespace steward
