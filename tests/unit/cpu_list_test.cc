// SPDX-License-Identifier: GPL-2.0-only
#include "loader/cpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Singles, ranges, overlaps and disorder all give the same ascending set.
TEST(CpuList, ParsesTheKernelsNotation) {
  EXPECT_THAT(*ParseCpuList("0"), ElementsAre(0));
  EXPECT_THAT(*ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*ParseCpuList("8,0-2,1-3"), ElementsAre(0, 1, 2, 3, 8));
}

// sysfs writes an empty line, or (null) for nohz_full, where there is no CPU.
TEST(CpuList, EmptyForms) {
  EXPECT_THAT(*ParseCpuList(""), IsEmpty());
  EXPECT_THAT(*ParseCpuList("(null)"), IsEmpty());
}

// A damaged file is an error that shows its text, never a crash or a huge set.
TEST(CpuList, RefusesNonsense) {
  for (const char* const text : {"x", "-1", "1-", "3-1", "1,,2", "0-99999999", "1-2-3", ","}) {
    const auto cpus = ParseCpuList(text);
    ASSERT_FALSE(cpus.ok()) << text;
    EXPECT_THAT(std::string(cpus.status().message()), HasSubstr(text));
  }
}

// Formatting is the inverse, with the fewest words.
TEST(CpuList, Formats) {
  EXPECT_EQ(FormatCpuList({}), "");
  EXPECT_EQ(FormatCpuList({5}), "5");
  EXPECT_EQ(FormatCpuList({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

// Membership in an ascending set.
TEST(CpuList, Contains) {
  EXPECT_TRUE(Contains({1, 4, 9}, 4));
  EXPECT_FALSE(Contains({1, 4, 9}, 5));
  EXPECT_FALSE(Contains({}, 0));
}

}  // namespace
}  // namespace steward
