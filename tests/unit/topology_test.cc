// SPDX-License-Identifier: GPL-2.0-only
#include "loader/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/fake_root.h"

namespace steward {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> Llcs(const Topology& topology) {
  std::vector<int> ids;
  ids.reserve(topology.cpus.size());
  for (const steward_cpu& cpu : topology.cpus) ids.push_back(cpu.llc);
  return ids;
}

// Two nodes of two cores with two threads each; siblings are 0/4, 1/5, ...
TEST(Topology, TwoNodesWithThreads) {
  const FakeRoot root;
  root.SetCpus("0-7", "0-7");
  for (int cpu = 0; cpu < 8; cpu++) {
    const int core = cpu % 4;
    const bool second = core >= 2;
    root.AddCpu(cpu, second ? "2-3,6-7" : "0-1,4-5", second ? 1 : 0,
                absl::StrCat(core, ",", core + 4), second ? 1 : 0);
  }
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_THAT(Llcs(*topology), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_EQ(topology->cpus[6].node, 1);
  EXPECT_EQ(topology->cpus[6].core, topology->cpus[2].core);
  EXPECT_EQ(topology->nr_llcs, 2);
  EXPECT_EQ(topology->nr_nodes, 2);
  EXPECT_EQ(topology->nr_cores, 4);
}

// Two caches in one node: the level decides, and instruction caches do not count.
TEST(Topology, HighestDataCacheIsTheLlc) {
  const FakeRoot root;
  root.SetCpus("0-1", "0-1");
  for (int cpu = 0; cpu < 2; cpu++) {
    root.AddCpu(cpu, "", 0, absl::StrCat(cpu), 0);
    root.AddCache(cpu, 0, 2, "Unified", absl::StrCat(cpu));
    root.AddCache(cpu, 1, 3, "Instruction", "0-1");
  }
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_THAT(Llcs(*topology), ElementsAre(0, 1));
}

// Guests often describe no caches: the package stands in.
TEST(Topology, PackageStandsInForAnUnknownCache) {
  const FakeRoot root;
  root.SetCpus("0-3", "0-3");
  for (int cpu = 0; cpu < 4; cpu++) root.AddCpu(cpu, "", 0, absl::StrCat(cpu), cpu / 2);
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_THAT(Llcs(*topology), ElementsAre(0, 0, 1, 1));
}

// A CPU with nothing in sysfs but its number: one cache for all of them.
TEST(Topology, NothingKnownIsOneCache) {
  const FakeRoot root;
  root.SetCpus("0-2", "0-2");
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_THAT(Llcs(*topology), ElementsAre(0, 0, 0));
  EXPECT_EQ(topology->nr_cores, 3);
}

// One CPU is a machine as well.
TEST(Topology, OneCpu) {
  const FakeRoot root;
  root.SetCpus("0", "0");
  root.AddCpu(0, "0", 0, "0", 0);
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->cpus.size(), 1U);
  EXPECT_EQ(topology->nr_llcs, 1);
}

// Offline CPUs have no topology files; they are taken to sit with their neighbours of the node.
TEST(Topology, OfflineCpusJoinTheirNeighbours) {
  const FakeRoot root;
  root.SetCpus("0-5", "1,4");
  root.AddCpu(1, "1", 0, "1", 0);
  root.AddCpu(4, "4", 0, "4", 0);
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  // 0 has no neighbour before it and takes the one after it.
  EXPECT_THAT(Llcs(*topology), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_EQ(topology->cpus[5].flags, STEWARD_CPU_POSSIBLE);
}

// Holes in the numbering count as ids but are no CPUs; ids of nodes become dense.
TEST(Topology, SparseIds) {
  const FakeRoot root;
  root.SetCpus("0,4", "0,4");
  root.AddCpu(0, "0", 2, "0", 0);
  root.AddCpu(4, "4", 7, "4", 9);
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  ASSERT_EQ(topology->cpus.size(), 5U);
  EXPECT_EQ(topology->cpus[2].flags, 0);
  EXPECT_EQ(topology->cpus[0].node, 0);
  EXPECT_EQ(topology->cpus[4].node, 1);
  EXPECT_EQ(topology->cpus[4].llc, 1);
}

// nohz_full CPUs are marked, so that none becomes the timer CPU by itself.
TEST(Topology, NohzFullIsQuiet) {
  const FakeRoot root;
  root.SetCpus("0-2", "0-2");
  root.Write("/sys/devices/system/cpu/nohz_full", "1-2\n");
  const auto topology = ReadTopology(root.path());
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->cpus[0].flags, STEWARD_CPU_POSSIBLE);
  EXPECT_EQ(topology->cpus[1].flags, STEWARD_CPU_POSSIBLE | STEWARD_CPU_QUIET);
}

// More ids than the arrays shared with BPF have room for: refused with both numbers.
TEST(Topology, TooManyCpus) {
  const FakeRoot root;
  root.SetCpus(absl::StrCat("0-", STEWARD_MAX_CPUS), "0");
  const auto topology = ReadTopology(root.path());
  ASSERT_FALSE(topology.ok());
  EXPECT_THAT(std::string(topology.status().message()),
              HasSubstr(absl::StrCat(STEWARD_MAX_CPUS + 1)));
}

// Without sysfs the error names the file; with nonsense in it as well.
TEST(Topology, BrokenSysfs) {
  const FakeRoot root;
  EXPECT_THAT(std::string(ReadTopology(root.path()).status().message()), HasSubstr("possible"));
  root.SetCpus("what", "0");
  EXPECT_THAT(std::string(ReadTopology(root.path()).status().message()), HasSubstr("'what'"));
  root.SetCpus("", "");
  EXPECT_THAT(std::string(ReadTopology(root.path()).status().message()), HasSubstr("no CPU"));
}

}  // namespace
}  // namespace steward
