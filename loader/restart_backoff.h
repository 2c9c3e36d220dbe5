// SPDX-License-Identifier: GPL-2.0-only
// How long to wait before the next load in the same process. A hotplug storm must neither end the
// scheduler nor make it spin. Time is an argument.
#pragma once

#include "absl/time/time.h"

namespace steward {

class RestartBackoff {
 public:
  // The scheduler ended after having run for `ran`; returns the time to wait. The first restart
  // after a calm stretch is immediate.
  absl::Duration Next(absl::Duration ran);

 private:
  absl::Duration delay_ = absl::ZeroDuration();
};

}  // namespace steward
