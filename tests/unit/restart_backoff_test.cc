// SPDX-License-Identifier: GPL-2.0-only
#include "loader/restart_backoff.h"

#include <gtest/gtest.h>

namespace steward {
namespace {

// One hotplug event costs no waiting.
TEST(RestartBackoff, FirstIsImmediate) {
  RestartBackoff backoff;
  EXPECT_EQ(backoff.Next(absl::Milliseconds(1)), absl::ZeroDuration());
}

// In a storm the waits grow and then stay bounded, and there is always a next try.
TEST(RestartBackoff, GrowsToABound) {
  RestartBackoff backoff;
  absl::Duration last = backoff.Next(absl::ZeroDuration());
  for (int i = 0; i < 100; i++) {
    const absl::Duration next = backoff.Next(absl::Milliseconds(100));
    EXPECT_GE(next, last);
    EXPECT_LE(next, absl::Seconds(2));
    EXPECT_GT(next, absl::ZeroDuration());
    last = next;
  }
  EXPECT_EQ(last, absl::Seconds(2));
}

// A long run ends the storm.
TEST(RestartBackoff, CalmStartsAnew) {
  RestartBackoff backoff;
  for (int i = 0; i < 10; i++) backoff.Next(absl::ZeroDuration());
  EXPECT_EQ(backoff.Next(absl::Seconds(10)), absl::ZeroDuration());
}

}  // namespace
}  // namespace steward
