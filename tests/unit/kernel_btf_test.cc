// SPDX-License-Identifier: GPL-2.0-only
#include "loader/kernel_btf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/fake_btf.h"

namespace steward {
namespace {

using ::testing::HasSubstr;

// Functions, members (also inside anonymous unions) and enum values are found by name.
TEST(KernelBtf, FindsByName) {
  const FakeRoot root;
  NewKernelBtf().Write(root);
  const auto btf = KernelBtf::Load(root.path() + "/sys/kernel/btf/vmlinux");
  ASSERT_TRUE(btf.ok()) << btf.status();
  EXPECT_TRUE(btf->HasFunction("scx_bpf_now"));
  EXPECT_FALSE(btf->HasFunction("scx_bpf_no"));
  EXPECT_FALSE(btf->HasFunction("rq")) << "a struct is no function";
  EXPECT_TRUE(btf->HasMember("rq", "ext_server"));
  EXPECT_FALSE(btf->HasMember("rq", "fair_server"));
  EXPECT_FALSE(btf->HasMember("nothing", "ext_server"));
  EXPECT_EQ(btf->EnumValueOrZero("scx_ops_flags", "SCX_OPS_ALLOW_QUEUED_WAKEUP"), 0x20U);
  EXPECT_EQ(btf->EnumValueOrZero("small", "SMALL_TWO"), 2U) << "32-bit enums as well";
  EXPECT_EQ(btf->EnumValueOrZero("scx_ops_flags", "SCX_OPS_OTHER"), 0U);
  EXPECT_EQ(btf->EnumValueOrZero("nothing", "SMALL_TWO"), 0U);
}

// A file that is absent or no BTF is an error that names it.
TEST(KernelBtf, UnreadableFiles) {
  const FakeRoot root;
  root.Write("/btf", "this is not type information");
  EXPECT_THAT(std::string(KernelBtf::Load(root.path() + "/btf").status().message()),
              HasSubstr("/btf"));
  EXPECT_FALSE(KernelBtf::Load(root.path() + "/absent").ok());
}

}  // namespace
}  // namespace steward
