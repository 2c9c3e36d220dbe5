// SPDX-License-Identifier: GPL-2.0-only
#include "loader/kernel_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "steward/topology.h"
#include "tests/unit/fake_btf.h"

namespace steward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A machine that can run everything; each test breaks one thing.
class KernelProbeTest : public ::testing::Test {
 protected:
  KernelProbeTest() {
    root_.Write("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
    root_.Write("/proc/cmdline", "quiet\n");
    root_.Write("/proc/sys/kernel/osrelease", "7.3.4\n");
    root_.Write("/proc/kallsyms",
                "ffffffff81000000 T _text\nffffffff82345678 D tick_do_timer_cpu\n");
    root_.Write("/sys/kernel/sched_ext/state", "disabled\n");
    root_.SetCpus("0-3", "0-3");
    NewKernelBtf().Write(root_);
  }

  std::vector<Finding> Probe() { return ProbeKernel(root_.path(), ProbeDepth::kFull); }

  std::string Refusal() { return std::string(RefuseIfMissing(Probe()).message()); }

  int Count(Verdict verdict) {
    const std::vector<Finding> findings = Probe();
    return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                          [&](const Finding& f) { return f.verdict == verdict; }));
  }

  // The text of the only thing that is degraded.
  std::string OnlyDegraded() {
    EXPECT_EQ(Count(Verdict::kDegraded), 1);
    EXPECT_EQ(Count(Verdict::kMissing), 0);
    for (const Finding& finding : Probe()) {
      if (finding.verdict == Verdict::kDegraded) return FormatFinding(finding);
    }
    return "";
  }

  FakeRoot root_;
};

// Everything there: nothing to complain of.
TEST_F(KernelProbeTest, CompleteMachine) {
  EXPECT_EQ(Refusal(), "");
  EXPECT_EQ(Count(Verdict::kDegraded), 0) << FormatCheck(Probe());
  EXPECT_THAT(FormatCheck(Probe()),
              AllOf(HasSubstr("scx_steward can run here.\n"), Not(HasSubstr("missing"))));
}

// The oldest supported kernel runs, with what it lacks listed.
TEST_F(KernelProbeTest, OldKernelIsDegradedOnly) {
  OldKernelBtf().Write(root_);
  EXPECT_EQ(Refusal(), "");
  EXPECT_EQ(Count(Verdict::kDegraded), 4) << FormatCheck(Probe());
  EXPECT_THAT(FormatCheck(Probe()),
              AllOf(HasSubstr("degraded  "), HasSubstr("with the restrictions above")));
}

// Not root: say how to become it.
TEST_F(KernelProbeTest, NoPrivilege) {
  root_.Write("/proc/self/status", "CapEff:\t0000000000000000\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("CAP_BPF"), HasSubstr("root")));
}

// CAP_BPF and CAP_PERFMON suffice; one of them does not.
TEST_F(KernelProbeTest, CapabilitiesInsteadOfRoot) {
  root_.Write("/proc/self/status", "CapEff:\t000000c000000000\n");
  EXPECT_EQ(Refusal(), "");
  root_.Write("/proc/self/status", "CapEff:\t0000008000000000\n");
  EXPECT_NE(Refusal(), "");
}

// A kernel without sched_ext is named with what it would take.
TEST_F(KernelProbeTest, NoSchedExt) {
  root_.Remove("/sys/kernel/sched_ext");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("7.3.4"), HasSubstr("CONFIG_SCHED_CLASS_EXT")));
}

// Another scheduler is named, whatever state it is in.
TEST_F(KernelProbeTest, AnotherScheduler) {
  root_.Write("/sys/kernel/sched_ext/root/ops", "simple\n");
  for (const char* const state : {"enabled", "enabling", "disabling"}) {
    root_.Write("/sys/kernel/sched_ext/state", state);
    EXPECT_THAT(Refusal(), AllOf(HasSubstr("simple"), HasSubstr(state)));
  }
}

// No BTF, damaged BTF, BTF without sched_ext: three different sentences.
TEST_F(KernelProbeTest, TypeInformation) {
  root_.Write("/sys/kernel/btf/vmlinux", "damaged");
  EXPECT_THAT(Refusal(), HasSubstr("cannot read"));
  FakeBtf().Write(root_);
  EXPECT_THAT(Refusal(), HasSubstr("sched_ext_ops"));
  root_.Remove("/sys/kernel/btf/vmlinux");
  EXPECT_THAT(Refusal(), HasSubstr("CONFIG_DEBUG_INFO_BTF"));
}

// A function that exists under none of its names is named with all of them.
TEST_F(KernelProbeTest, MissingFunction) {
  FakeBtf btf = OldKernelBtf();
  btf.functions.erase(std::find(btf.functions.begin(), btf.functions.end(), "scx_bpf_consume"));
  btf.Write(root_);
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("scx_bpf_consume"), HasSubstr("move_to_local")));
}

// isolcpus= makes the kernel refuse; an isolated cpuset only may.
TEST_F(KernelProbeTest, IsolatedCpus) {
  root_.Write("/sys/devices/system/cpu/isolated", "2-3\n");
  EXPECT_THAT(OnlyDegraded(), HasSubstr("2-3"));
  root_.Write("/proc/cmdline", "quiet isolcpus=2-3\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("isolcpus="), HasSubstr("2-3")));
}

// More CPUs than the shared arrays hold.
TEST_F(KernelProbeTest, TooManyCpus) {
  root_.SetCpus(absl::StrCat("0-", STEWARD_MAX_CPUS), "0");
  EXPECT_THAT(Refusal(), HasSubstr(absl::StrCat(STEWARD_MAX_CPUS + 1)));
}

// The timekeeping CPU is unknown where symbols are hidden (address 0), absent, or locked away.
TEST_F(KernelProbeTest, Timekeeper) {
  root_.Write("/proc/kallsyms", "0000000000000000 D tick_do_timer_cpu\n");
  EXPECT_THAT(OnlyDegraded(), HasSubstr("kallsyms"));
  root_.Write("/proc/kallsyms", "ffffffff82345678 D tick_do_timer_cpu_other\n");
  EXPECT_THAT(OnlyDegraded(), HasSubstr("kallsyms"));
  EXPECT_TRUE(MayReadKernelMemory(root_.path()));
  root_.Write("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
  EXPECT_THAT(OnlyDegraded(), HasSubstr("locked down"));
  EXPECT_FALSE(MayReadKernelMemory(root_.path()));
}

// A normal start does not read the long table of symbols.
TEST_F(KernelProbeTest, StartIsQuick) {
  root_.Remove("/proc/kallsyms");
  for (const Finding& finding : ProbeKernel(root_.path(), ProbeDepth::kStart)) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << FormatFinding(finding);
  }
}

// An empty file system: sentences, no crash.
TEST_F(KernelProbeTest, NothingThere) {
  const FakeRoot empty;
  const std::vector<Finding> findings = ProbeKernel(empty.path(), ProbeDepth::kFull);
  EXPECT_FALSE(RefuseIfMissing(findings).ok());
  EXPECT_THAT(FormatCheck(findings), HasSubstr("scx_steward cannot run here.\n"));
}

}  // namespace
}  // namespace steward
