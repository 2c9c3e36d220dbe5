// SPDX-License-Identifier: GPL-2.0-only
#include "loader/bpf_scheduler.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "loader/base/file.h"
#include "loader/base/status_macros.h"
#include "loader/kernel_btf.h"
#include "loader/kernel_probe.h"
#include "spdlog/spdlog.h"
#include "steward.skel.h"
#include "steward/abi.h"

namespace steward {
namespace {

// Flags of struct sched_ext_ops that are set where the running kernel knows them. None is needed.
constexpr const char* kWantedFlags[] = {
    "SCX_OPS_ALLOW_QUEUED_WAKEUP",
};

uint64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

template <typename T>
T ReadOnce(const T& shared) {
  return *const_cast<const volatile T*>(&shared);
}

template <typename T>
void WriteOnce(T& shared, T value) {
  *const_cast<volatile T*>(&shared) = value;
}

// Copies a structure that BPF programs write meanwhile: word by word, so that no field is torn.
template <typename T>
T CopyShared(const T& shared) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint64_t) == 0);
  T copy;
  const auto* const from = reinterpret_cast<const volatile uint64_t*>(&shared);
  auto* const to = reinterpret_cast<uint64_t*>(&copy);
  for (size_t i = 0; i < sizeof(T) / sizeof(uint64_t); i++) to[i] = from[i];
  return copy;
}

std::string FromCharArray(const char* text, size_t size) {
  return std::string(text, strnlen(text, size));
}

// Old kernels charge BPF memory to this limit.
void RaiseMemoryLimit() {
  const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &unlimited) != 0) {
    spdlog::warn("cannot raise RLIMIT_MEMLOCK ({}); the load may fail for lack of memory",
                 std::strerror(errno));
  }
}

// Runs a program of type syscall once.
absl::Status Run(const bpf_program* program) {
  bpf_test_run_opts options = {};
  options.sz = sizeof(options);
  const int error = bpf_prog_test_run_opts(bpf_program__fd(program), &options);
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(
      -error, absl::StrCat("cannot run the BPF program ", bpf_program__name(program)));
}

}  // namespace

BpfScheduler::BpfScheduler(const LaunchConfig& config, Topology topology, uint64_t hotplug_seq)
    : config_(config),
      topology_(std::move(topology)),
      hotplug_seq_(hotplug_seq),
      log_(config.verbosity) {}

BpfScheduler::~BpfScheduler() {
  Detach();
  steward_bpf__destroy(skeleton_);
}

absl::StatusOr<std::unique_ptr<Scheduler>> BpfScheduler::Launch(const LaunchConfig& config,
                                                                const steward_tunables& tunables) {
  RaiseMemoryLimit();
  // A CPU that comes or goes between our look at the topology and the attach makes the kernel ask
  // for a restart, if it knows at which state we looked: so this is read first.
  uint64_t hotplug_seq = 0;
  const std::string seq = ReadText(config.root + "/sys/kernel/sched_ext/hotplug_seq").value_or("");
  if (!absl::SimpleAtoi(seq, &hotplug_seq)) hotplug_seq = 0;
  ASSIGN_OR_RETURN(Topology topology, ReadTopology(config.root));
  std::unique_ptr<BpfScheduler> scheduler(
      new BpfScheduler(config, std::move(topology), hotplug_seq));
  RETURN_IF_ERROR(scheduler->Open());
  RETURN_IF_ERROR(scheduler->Configure(tunables));
  RETURN_IF_ERROR(scheduler->Load());
  if (const absl::Status status = Run(scheduler->skeleton_->progs.steward_prefer_timekeeper);
      !status.ok()) {
    spdlog::warn("{}; the first CPU that may becomes the timer CPU", std::string(status.message()));
    scheduler->skeleton_->bss->steer.timer_cpu = STEWARD_NO_CPU;
  }
  RETURN_IF_ERROR(scheduler->Attach());
  // An enable that failed in the kernel is told by Exit(), not by the attach.
  if (scheduler->Exit().kind == 0) RETURN_IF_ERROR(scheduler->Retarget());
  return scheduler;
}

absl::Status BpfScheduler::Open() {
  skeleton_ = steward_bpf__open();
  if (skeleton_ == nullptr) {
    return absl::ErrnoToStatus(errno, "cannot open the built-in BPF object");
  }
  if (skeleton_->rodata->abi_version != STEWARD_ABI_VERSION) {
    return absl::InternalError("the built-in BPF object is of another build; build again");
  }
  return absl::OkStatus();
}

absl::Status BpfScheduler::Configure(const steward_tunables& tunables) {
  skeleton_->rodata->nr_cpu_ids = static_cast<__u32>(topology_.cpus.size());
  skeleton_->rodata->blocked_load = config_.blocked_load;
  skeleton_->rodata->may_read_kernel = MayReadKernelMemory(config_.root);
  // const for BPF, ours to fill before the load.
  auto* const topo = const_cast<steward_cpu*>(skeleton_->rodata->topo);
  std::copy(topology_.cpus.begin(), topology_.cpus.end(), topo);
  skeleton_->data->tunables = tunables;
  return ConfigureOps();
}

// The skeleton has no field for every member, and none of them at a known place: they are found by
// name in the object's own type information.
absl::Status BpfScheduler::SetOpsMember(const char* name, const void* value, size_t size) {
  const btf* const types = bpf_object__btf(skeleton_->obj);
  const int id = btf__find_by_name_kind(types, "sched_ext_ops", BTF_KIND_STRUCT);
  const btf_type* const type = id > 0 ? btf__type_by_id(types, static_cast<__u32>(id)) : nullptr;
  size_t ops_size = 0;
  auto* const ops =
      static_cast<char*>(bpf_map__initial_value(skeleton_->maps.steward_ops, &ops_size));
  for (int i = 0; type != nullptr && i < btf_vlen(type); i++) {
    const btf_member* const member = &btf_members(type)[i];
    const size_t offset = btf_member_bit_offset(type, static_cast<__u32>(i)) / 8;
    if (std::strcmp(btf__name_by_offset(types, member->name_off), name) != 0) continue;
    const __s64 room = btf__resolve_size(types, member->type);
    if (room < 0 || size > static_cast<size_t>(room) || offset + size > ops_size) break;
    std::memcpy(ops + offset, value, size);
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("the built-in BPF object has no place of ", size,
                                          " bytes for sched_ext_ops.", name, "; build again"));
}

absl::Status BpfScheduler::ConfigureOps() {
  ASSIGN_OR_RETURN(const KernelBtf btf, KernelBtf::Load(config_.root + "/sys/kernel/btf/vmlinux"));
  uint64_t flags = 0;
  for (const char* const name : kWantedFlags) {
    flags |= btf.EnumValueOrZero("scx_ops_flags", name);
  }
  RETURN_IF_ERROR(SetOpsMember("flags", &flags, sizeof(flags)));
  RETURN_IF_ERROR(SetOpsMember("timeout_ms", &config_.timeout_ms, sizeof(config_.timeout_ms)));
  RETURN_IF_ERROR(
      SetOpsMember("exit_dump_len", &config_.exit_dump_len, sizeof(config_.exit_dump_len)));
  RETURN_IF_ERROR(SetOpsMember("name", config_.ops_name.c_str(), config_.ops_name.size() + 1));
  RETURN_IF_ERROR(SetOpsMember("hotplug_seq", &hotplug_seq_, sizeof(hotplug_seq_)));
  // libbpf would attach it by itself, and not tell us why the kernel refused.
  return bpf_map__set_autoattach(skeleton_->maps.steward_ops, false) == 0
             ? absl::OkStatus()
             : absl::InternalError("cannot turn automatic attaching off");
}

absl::Status BpfScheduler::Load() {
  const int error = steward_bpf__load(skeleton_);
  if (error != 0) {
    return absl::Status(
        absl::ErrnoToStatusCode(-error),
        absl::StrCat("the kernel (", KernelRelease(config_.root),
                     ") refused the BPF programs: ", std::strerror(-error),
                     "; please report it with what -v shows, which ends so:", log_.Tail()));
  }
  // Binds the program to our scheduler on kernels that may have several; older ones need it not
  // and refuse it.
  bpf_program__assoc_struct_ops(skeleton_->progs.steward_retarget, skeleton_->maps.steward_ops,
                                nullptr);
  return absl::OkStatus();
}

absl::Status BpfScheduler::Attach() {
  start_ns_ = MonotonicNs();
  link_ = bpf_map__attach_struct_ops(skeleton_->maps.steward_ops);
  if (link_ == nullptr) {
    return absl::ErrnoToStatus(
        errno,
        "the kernel did not accept the scheduler; scx_steward --check may say why, and the "
        "kernel's log (dmesg)");
  }
  return absl::OkStatus();
}

absl::Status BpfScheduler::Retarget() { return Run(skeleton_->progs.steward_retarget); }

StatsSnapshot BpfScheduler::Stats() const {
  StatsSnapshot stats;
  stats.time_ns = MonotonicNs();
  stats.start_ns = start_ns_;
  stats.steer = CopyShared(skeleton_->bss->steer);
  stats.balance = CopyShared(skeleton_->bss->balance);
  stats.cpus.reserve(topology_.lists.possible.size());
  for (const int cpu : topology_.lists.possible) {
    stats.cpus.push_back(
        {static_cast<uint32_t>(cpu), CopyShared(skeleton_->bss->cells[static_cast<size_t>(cpu)])});
  }
  return stats;
}

steward_tunables BpfScheduler::Tunables() const { return CopyShared(skeleton_->data->tunables); }

absl::Status BpfScheduler::SetTunables(const steward_tunables& tunables) {
  steward_tunables& shared = skeleton_->data->tunables;
#define STEWARD_TUNABLE(name, unit, min, max, def, why) WriteOnce(shared.name, tunables.name);
#include "steward/tunables.def"
#undef STEWARD_TUNABLE
  if (ReadOnce(shared.timer_cpu) == tunables.timer_cpu) return absl::OkStatus();
  WriteOnce(shared.timer_cpu, tunables.timer_cpu);
  return Retarget();
}

ExitRecord BpfScheduler::Exit() const {
  const steward_exit& shared = skeleton_->bss->exit_info;
  ExitRecord record;
  // Written last, so what follows is complete once it is seen.
  record.kind = __atomic_load_n(&shared.kind, __ATOMIC_ACQUIRE);
  if (record.kind == 0) return record;
  record.cpu = shared.cpu;
  record.code = shared.code;
  record.reason = FromCharArray(shared.reason, sizeof(shared.reason));
  record.message = FromCharArray(shared.message, sizeof(shared.message));
  record.dump = FromCharArray(skeleton_->bss->exit_dump, sizeof(skeleton_->bss->exit_dump));
  return record;
}

void BpfScheduler::Detach() {
  if (link_ == nullptr) return;
  bpf_link__destroy(std::exchange(link_, nullptr));
  // Some kernels let go of the link after the close has returned.
  constexpr absl::Duration kStep = absl::Milliseconds(5);
  for (absl::Duration waited; Exit().kind == 0 && waited < absl::Seconds(2); waited += kStep) {
    absl::SleepFor(kStep);
  }
}

}  // namespace steward
