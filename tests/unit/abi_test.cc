// SPDX-License-Identifier: GPL-2.0-only
#include "steward/abi.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace {

// Each record has lines of its own, and the parts of a cell never share one.
TEST(Abi, OneWriterOneLine) {
  EXPECT_EQ(alignof(steward_cell), size_t{STEWARD_LINE});
  EXPECT_EQ(sizeof(steward_cell) % STEWARD_LINE, 0U);
  EXPECT_EQ(offsetof(steward_cell, local) % STEWARD_LINE, 0U);
  EXPECT_EQ(offsetof(steward_cell, seen) % STEWARD_LINE, 0U);
  EXPECT_EQ(sizeof(steward_steer), size_t{STEWARD_LINE});
  EXPECT_EQ(sizeof(steward_tunables) % STEWARD_LINE, 0U);
  EXPECT_EQ(sizeof(steward_balance) % STEWARD_LINE, 0U);
}

// The loader copies records word by word.
TEST(Abi, RecordsAreWholeWords) {
  EXPECT_EQ(sizeof(steward_cell) % 8, 0U);
  EXPECT_EQ(sizeof(steward_steer) % 8, 0U);
  EXPECT_EQ(sizeof(steward_balance) % 8, 0U);
  EXPECT_EQ(sizeof(steward_tunables) % 8, 0U);
}

// Levels: same cache, same node, other node; a cache decides before the node.
TEST(Abi, LevelBetweenCpus) {
  const steward_cpu a = {0, 0, 0, STEWARD_CPU_POSSIBLE, STEWARD_CAPACITY_FULL};
  const steward_cpu same_cache = {0, 0, 1, STEWARD_CPU_POSSIBLE, STEWARD_CAPACITY_FULL};
  const steward_cpu same_node = {1, 0, 2, STEWARD_CPU_POSSIBLE, STEWARD_CAPACITY_FULL};
  const steward_cpu far = {2, 1, 3, STEWARD_CPU_POSSIBLE, STEWARD_CAPACITY_FULL};
  EXPECT_EQ(steward_level_between(&a, &a), STEWARD_LEVEL_LLC);
  EXPECT_EQ(steward_level_between(&a, &same_cache), STEWARD_LEVEL_LLC);
  EXPECT_EQ(steward_level_between(&a, &same_node), STEWARD_LEVEL_NODE);
  EXPECT_EQ(steward_level_between(&a, &far), STEWARD_LEVEL_MACHINE);
  EXPECT_EQ(steward_level_between(&far, &a), STEWARD_LEVEL_MACHINE);
}

}  // namespace
