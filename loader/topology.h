// SPDX-License-Identifier: GPL-2.0-only
// Where each CPU sits, read from sysfs before the load. Nothing here needs a kernel: the root of
// /sys is an argument.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "steward/topology.h"

namespace steward {

// The machine's sets of CPUs; each ascending. Changes with hotplug.
struct CpuLists {
  std::vector<int> possible;
  std::vector<int> online;
  std::vector<int> nohz_full;
  std::vector<int> isolated;

  // One more than the highest id.
  [[nodiscard]] int nr_cpu_ids() const { return possible.empty() ? 0 : possible.back() + 1; }
};

struct Topology {
  CpuLists lists;
  // Indexed by CPU, nr_cpu_ids entries; holes in the numbering have no flag set.
  std::vector<steward_cpu> cpus;
  int nr_llcs = 0;
  int nr_nodes = 0;
  int nr_cores = 0;
};

// root: "" on a real machine, a temporary folder in tests.
absl::StatusOr<CpuLists> ReadCpuLists(const std::string& root);

// Fails if the machine has more CPU ids than STEWARD_MAX_CPUS or sysfs makes no sense.
absl::StatusOr<Topology> ReadTopology(const std::string& root);

}  // namespace steward
