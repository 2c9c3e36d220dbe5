// SPDX-License-Identifier: GPL-2.0-only
#include "loader/kernel_probe.h"

#include <cstdint>
#include <fstream>
#include <initializer_list>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "loader/base/file.h"
#include "loader/cpu_list.h"
#include "loader/kernel_btf.h"
#include "loader/topology.h"

namespace steward {
namespace {

constexpr char kBtfPath[] = "/sys/kernel/btf/vmlinux";
constexpr char kSchedExtDir[] = "/sys/kernel/sched_ext";
constexpr char kNewKernel[] =
    "boot a kernel from 6.12 on that is built with CONFIG_SCHED_CLASS_EXT=y";

// Each group is one operation under the names it had from 6.12 to 7.3; one of them suffices.
// Mirrors bpf/kernel.bpf.h.
constexpr std::initializer_list<std::initializer_list<const char*>> kNeededFunctions = {
    {"scx_bpf_dsq_insert___v2", "scx_bpf_dsq_insert", "scx_bpf_dispatch"},
    {"__scx_bpf_dsq_insert_vtime", "scx_bpf_dsq_insert_vtime", "scx_bpf_dispatch_vtime"},
    {"scx_bpf_dsq_move_to_local___v2", "scx_bpf_dsq_move_to_local", "scx_bpf_consume"},
    {"scx_bpf_dsq_move_vtime", "scx_bpf_dispatch_vtime_from_dsq"},
    {"scx_bpf_create_dsq"},
    {"scx_bpf_dsq_nr_queued"},
    {"scx_bpf_kick_cpu"},
    {"scx_bpf_select_cpu_dfl"},
    {"scx_bpf_get_idle_cpumask"},
    {"scx_bpf_get_online_cpumask"},
    {"bpf_iter_scx_dsq_new"},
};

Finding Ok(absl::string_view what) { return {Verdict::kOk, std::string(what), "", ""}; }

Finding Missing(absl::string_view what, absl::string_view why, absl::string_view fix) {
  return {Verdict::kMissing, std::string(what), std::string(why), std::string(fix)};
}

Finding Degraded(absl::string_view what, absl::string_view why, absl::string_view fix) {
  return {Verdict::kDegraded, std::string(what), std::string(why), std::string(fix)};
}

Finding ProbePrivilege(const std::string& root) {
  constexpr char kWhat[] = "privilege to load BPF programs";
  constexpr uint64_t kSysAdmin = uint64_t{1} << 21;
  constexpr uint64_t kPerfmon = uint64_t{1} << 38;
  constexpr uint64_t kBpf = uint64_t{1} << 39;
  const std::string status = ReadText(root + "/proc/self/status").value_or("");
  uint64_t caps = 0;
  for (const absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::StartsWith(line, "CapEff:")) continue;
    if (!absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line.substr(7)), &caps)) caps = 0;
  }
  if ((caps & kSysAdmin) != 0 || ((caps & kBpf) != 0 && (caps & kPerfmon) != 0)) return Ok(kWhat);
  return Missing(kWhat, "this process has neither CAP_SYS_ADMIN nor CAP_BPF with CAP_PERFMON",
                 "run it as root, for instance with sudo");
}

Finding ProbeSchedExt(const std::string& root) {
  constexpr char kWhat[] = "sched_ext in the kernel";
  if (PathExists(root + kSchedExtDir)) return Ok(kWhat);
  return Missing(kWhat,
                 absl::StrCat("kernel ", KernelRelease(root), " has no sched_ext: ", kSchedExtDir,
                              " does not exist"),
                 kNewKernel);
}

// Says who it is, if another scheduler runs.
Finding ProbeOther(const std::string& root) {
  constexpr char kWhat[] = "no other sched_ext scheduler";
  const std::string dir = root + kSchedExtDir;
  const std::string state = ReadText(dir + "/state").value_or("disabled");
  if (state == "disabled") return Ok(kWhat);
  const std::string name = ReadText(dir + "/root/ops").value_or("");
  return Missing(kWhat,
                 absl::StrCat("another sched_ext scheduler is there: ",
                              name.empty() ? "without a name" : name, ", state ", state),
                 "stop it first");
}

void ProbeNeededTypes(const KernelBtf& btf, std::vector<Finding>& findings) {
  constexpr char kWhat[] = "the kernel functions scx_steward calls";
  std::vector<std::string> absent;
  for (const auto& group : kNeededFunctions) {
    bool found = false;
    for (const char* const name : group) found = found || btf.HasFunction(name);
    if (!found) absent.push_back(absl::StrJoin(group, " or "));
  }
  findings.push_back(
      absent.empty()
          ? Ok(kWhat)
          : Missing(kWhat, absl::StrCat("the kernel has no ", absl::StrJoin(absent, ", no ")),
                    kNewKernel));
}

void ProbeOptionalTypes(const KernelBtf& btf, std::vector<Finding>& findings) {
  const auto add = [&](bool present, absl::string_view what, absl::string_view why,
                       absl::string_view fix) {
    findings.push_back(present ? Ok(what) : Degraded(what, why, fix));
  };
  add(btf.HasFunction("scx_bpf_now"), "cheap clock (scx_bpf_now)",
      "the slower clock is read instead", "6.14 and later have it");
  add(btf.HasFunction("scx_bpf_dsq_peek"), "lockless look at a queue (scx_bpf_dsq_peek)",
      "a lock is taken instead", "6.19 and later have it");
  add(btf.EnumValueOrZero("scx_ops_flags", "SCX_OPS_ALLOW_QUEUED_WAKEUP") != 0,
      "queued wake-ups (SCX_OPS_ALLOW_QUEUED_WAKEUP)", "wake-ups across CPUs cost a little more",
      "6.14 and later have it");
  add(btf.HasMember("rq", "ext_server"), "protection from real-time tasks (ext_server)",
      "a real-time task that never sleeps starves all others on its CPU, and the kernel's watchdog "
      "then ends the scheduler",
      "7.0 and later have it");
}

void ProbeTypes(const std::string& root, std::vector<Finding>& findings) {
  constexpr char kWhat[] = "type information of the kernel (BTF)";
  if (!PathExists(root + kBtfPath)) {
    findings.push_back(
        Missing(kWhat, absl::StrCat("the kernel's type information ", kBtfPath, " does not exist"),
                "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF=y"));
    return;
  }
  const absl::StatusOr<KernelBtf> btf = KernelBtf::Load(root + kBtfPath);
  if (!btf.ok()) {
    findings.push_back(Missing(kWhat, btf.status().message(), ""));
    return;
  }
  if (!btf->HasMember("sched_ext_ops", "dispatch")) {
    findings.push_back(Missing(
        kWhat, "the kernel's type information does not describe sched_ext_ops", kNewKernel));
    return;
  }
  findings.push_back(Ok(kWhat));
  ProbeNeededTypes(*btf, findings);
  ProbeOptionalTypes(*btf, findings);
}

// The kernel refuses sched_ext with -EINVAL under isolcpus=. Cpusets with isolated partitions show
// in the same list on some kernels and are accepted.
Finding ProbeIsolation(const std::string& root, const CpuLists& lists) {
  constexpr char kWhat[] = "no CPU isolated from the scheduler";
  if (lists.isolated.empty()) return Ok(kWhat);
  const std::string why = absl::StrCat("CPUs ", FormatCpuList(lists.isolated), " are isolated");
  if (absl::StrContains(ReadText(root + "/proc/cmdline").value_or(""), "isolcpus=")) {
    return Missing(kWhat, why + " by isolcpus=, and the kernel then refuses sched_ext",
                   "boot without isolcpus=; nohz_full= is fine");
  }
  return Degraded(kWhat, why + ", and some kernels then refuse sched_ext", "");
}

void ProbeCpus(const std::string& root, std::vector<Finding>& findings) {
  constexpr char kWhat[] = "the list of CPUs";
  const absl::StatusOr<CpuLists> lists = ReadCpuLists(root);
  if (!lists.ok()) {
    findings.push_back(Missing(kWhat, lists.status().message(), "mount /sys"));
    return;
  }
  if (lists->nr_cpu_ids() > STEWARD_MAX_CPUS) {
    findings.push_back(Missing(kWhat,
                               absl::StrCat("the kernel counts ", lists->nr_cpu_ids(),
                                            " CPUs, scx_steward at most ", STEWARD_MAX_CPUS),
                               "raise STEWARD_MAX_CPUS and build again"));
    return;
  }
  findings.push_back(Ok(kWhat));
  findings.push_back(ProbeIsolation(root, *lists));
}

// The kernel looks the variable up for us if it would also show us its address.
bool SymbolIsVisible(const std::string& root, absl::string_view symbol) {
  std::ifstream in(root + "/proc/kallsyms");
  for (std::string line; std::getline(in, line);) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 3 || words[2] != symbol) continue;
    return words[0].find_first_not_of('0') != absl::string_view::npos;
  }
  return false;
}

Finding ProbeTimekeeper(const std::string& root, ProbeDepth depth) {
  constexpr char kWhat[] = "knowing the kernel's timekeeping CPU";
  constexpr char kElse[] = "the first CPU that is not nohz_full becomes the timer CPU";
  constexpr char kFix[] = "choose another with --timer-cpu if need be";
  if (!MayReadKernelMemory(root)) {
    return Degraded(kWhat, absl::StrCat("the kernel is locked down, so ", kElse), kFix);
  }
  if (depth == ProbeDepth::kFull && !SymbolIsVisible(root, "tick_do_timer_cpu")) {
    return Degraded(kWhat, absl::StrCat("/proc/kallsyms hides tick_do_timer_cpu, so ", kElse),
                    kFix);
  }
  return Ok(kWhat);
}

}  // namespace

std::vector<Finding> ProbeKernel(const std::string& root, ProbeDepth depth) {
  std::vector<Finding> findings;
  findings.push_back(ProbePrivilege(root));
  findings.push_back(ProbeSchedExt(root));
  findings.push_back(ProbeOther(root));
  ProbeCpus(root, findings);
  ProbeTypes(root, findings);
  findings.push_back(ProbeTimekeeper(root, depth));
  return findings;
}

std::string FormatFinding(const Finding& finding) {
  std::string text = finding.what;
  if (!finding.why.empty()) absl::StrAppend(&text, ": ", finding.why);
  if (!finding.fix.empty()) absl::StrAppend(&text, "; ", finding.fix);
  return text;
}

absl::Status RefuseIfMissing(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.verdict != Verdict::kMissing) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("cannot start: ", finding.why, finding.fix.empty() ? "" : "; ", finding.fix));
  }
  return absl::OkStatus();
}

std::string FormatCheck(const std::vector<Finding>& findings) {
  std::string text;
  bool degraded = false;
  for (const Finding& finding : findings) {
    const char* label = "ok        ";
    if (finding.verdict == Verdict::kDegraded) label = "degraded  ";
    if (finding.verdict == Verdict::kMissing) label = "missing   ";
    degraded = degraded || finding.verdict == Verdict::kDegraded;
    absl::StrAppend(&text, label, FormatFinding(finding), "\n");
  }
  if (!RefuseIfMissing(findings).ok()) {
    absl::StrAppend(&text, "\nscx_steward cannot run here.\n");
  } else {
    absl::StrAppend(&text, "\nscx_steward can run here",
                    degraded ? ", with the restrictions above.\n" : ".\n");
  }
  return text;
}

bool MayReadKernelMemory(const std::string& root) {
  const std::string lockdown = ReadText(root + "/sys/kernel/security/lockdown").value_or("");
  return !absl::StrContains(lockdown, "[confidentiality]");
}

std::string KernelRelease(const std::string& root) {
  return ReadText(root + "/proc/sys/kernel/osrelease").value_or("of unknown version");
}

}  // namespace steward
