// SPDX-License-Identifier: GPL-2.0-only
// The scheduler in the kernel: RAII over the BPF skeleton. The only file, with its .cc, that talks
// to libbpf about the object. Steps: open, configure, load, attach, retarget; the destructor
// detaches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loader/bpf_log.h"
#include "loader/scheduler.h"
#include "loader/topology.h"

struct bpf_link;
struct steward_bpf;

namespace steward {

struct LaunchConfig {
  std::string root;            // of /sys and /proc: "" on a real machine
  std::string ops_name;        // what /sys/kernel/sched_ext/root/ops shows
  uint32_t timeout_ms = 0;     // the kernel's watchdog
  uint32_t exit_dump_len = 0;  // 0: the kernel's choice
  steward_blocked_load blocked_load = STEWARD_BLOCKED_RING;
  int verbosity = 0;
};

class BpfScheduler : public Scheduler {
 public:
  static absl::StatusOr<std::unique_ptr<Scheduler>> Launch(const LaunchConfig& config,
                                                           const steward_tunables& tunables);
  ~BpfScheduler() override;
  BpfScheduler(const BpfScheduler&) = delete;
  BpfScheduler& operator=(const BpfScheduler&) = delete;

  [[nodiscard]] StatsSnapshot Stats() const override;
  [[nodiscard]] steward_tunables Tunables() const override;
  absl::Status SetTunables(const steward_tunables& tunables) override;
  [[nodiscard]] ExitRecord Exit() const override;
  void Detach() override;

 private:
  BpfScheduler(const LaunchConfig& config, Topology topology, uint64_t hotplug_seq);

  absl::Status Open();
  absl::Status Configure(const steward_tunables& tunables);
  absl::Status ConfigureOps();
  absl::Status Load();
  absl::Status Attach();
  // Elects the timer CPU and has it set its timer.
  absl::Status Retarget();
  absl::Status SetOpsMember(const char* name, const void* value, size_t size);

  LaunchConfig config_;
  Topology topology_;
  uint64_t hotplug_seq_;  // the kernel's count of hotplug events when topology_ was read; 0: none
  BpfLog log_;
  steward_bpf* skeleton_ = nullptr;
  bpf_link* link_ = nullptr;
  uint64_t start_ns_ = 0;
};

}  // namespace steward
