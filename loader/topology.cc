// SPDX-License-Identifier: GPL-2.0-only
#include "loader/topology.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "loader/base/file.h"
#include "loader/base/status_macros.h"
#include "loader/cpu_list.h"

namespace steward {
namespace {

constexpr char kCpuDir[] = "/sys/devices/system/cpu/";

absl::StatusOr<std::vector<int>> ReadList(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  absl::StatusOr<std::vector<int>> cpus = ParseCpuList(text);
  if (!cpus.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", cpus.status().message()));
  }
  return cpus;
}

// Files that some kernels do not have count as empty.
absl::StatusOr<std::vector<int>> ReadListIfPresent(const std::string& path) {
  if (!PathExists(path)) return std::vector<int>();
  return ReadList(path);
}

// What names a group of CPUs: the lowest CPU in it. Nothing, if the file is absent, as for an
// offline CPU.
std::optional<int> LowestCpu(const std::string& path) {
  const absl::StatusOr<std::vector<int>> cpus = ReadList(path);
  if (!cpus.ok() || cpus->empty()) return std::nullopt;
  return cpus->front();
}

std::optional<int> ReadInt(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadText(path);
  int value = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &value)) return std::nullopt;
  return value;
}

// The last-level cache is the highest level that holds data.
std::optional<int> LlcOf(const std::string& dir) {
  std::optional<int> llc;
  int highest = 0;
  for (const std::string& name : ListDirectory(dir + "/cache")) {
    const std::string index = absl::StrCat(dir, "/cache/", name);
    const int level = ReadInt(index + "/level").value_or(0);
    if (level <= highest || ReadText(index + "/type").value_or("") == "Instruction") continue;
    if (const std::optional<int> lowest = LowestCpu(index + "/shared_cpu_list")) {
      highest = level;
      llc = lowest;
    }
  }
  return llc;
}

std::optional<int> NodeOf(const std::string& dir) {
  for (const std::string& name : ListDirectory(dir)) {
    int node = 0;
    if (absl::StartsWith(name, "node") && absl::SimpleAtoi(name.substr(4), &node)) return node;
  }
  return std::nullopt;
}

// Maps sysfs' sparse ids to 0, 1, 2... in the order of their first use.
class DenseIds {
 public:
  uint16_t Get(std::pair<int, int> key) {
    return ids_.emplace(key, static_cast<uint16_t>(ids_.size())).first->second;
  }
  [[nodiscard]] int size() const { return static_cast<int>(ids_.size()); }

 private:
  std::map<std::pair<int, int>, uint16_t> ids_;
};

// Two kinds of names for an LLC, kept apart so that they cannot collide.
enum LlcKey { kByCache, kByPackage };

struct Place {
  std::optional<std::pair<int, int>> llc;
  int node = 0;
  int core = 0;
  int capacity = STEWARD_CAPACITY_FULL;
};

Place ReadPlace(const std::string& dir, int cpu) {
  Place place;
  place.node = NodeOf(dir).value_or(0);
  place.core = LowestCpu(dir + "/topology/thread_siblings_list").value_or(cpu);
  // Only on machines whose CPUs differ.
  place.capacity = std::clamp(ReadInt(dir + "/cpu_capacity").value_or(STEWARD_CAPACITY_FULL), 1,
                              STEWARD_CAPACITY_FULL);
  if (const std::optional<int> llc = LlcOf(dir)) {
    place.llc = {kByCache, *llc};
  } else if (const std::optional<int> package = ReadInt(dir + "/topology/physical_package_id")) {
    place.llc = {kByPackage, *package};
  }
  return place;
}

// sysfs tells nothing of an offline CPU's cache. It is taken to share that of the nearest CPU
// before it in its node, else after it: a wrong guess costs a detour in balancing, no more.
void GuessUnknownCaches(const std::vector<int>& possible, std::map<int, Place>& places) {
  for (const bool forward : {true, false}) {
    std::map<int, std::pair<int, int>> nearest;  // node -> LLC
    for (size_t i = 0; i < possible.size(); i++) {
      Place& place = places[possible[forward ? i : possible.size() - 1 - i]];
      if (place.llc) {
        nearest[place.node] = *place.llc;
      } else if (const auto found = nearest.find(place.node); found != nearest.end()) {
        place.llc = found->second;
      }
    }
  }
}

}  // namespace

absl::StatusOr<CpuLists> ReadCpuLists(const std::string& root) {
  const std::string dir = root + kCpuDir;
  CpuLists lists;
  ASSIGN_OR_RETURN(lists.possible, ReadList(dir + "possible"));
  ASSIGN_OR_RETURN(lists.online, ReadList(dir + "online"));
  ASSIGN_OR_RETURN(lists.nohz_full, ReadListIfPresent(dir + "nohz_full"));
  ASSIGN_OR_RETURN(lists.isolated, ReadListIfPresent(dir + "isolated"));
  if (lists.possible.empty() || lists.online.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir, " lists no CPU; is /sys mounted, and is it sysfs?"));
  }
  return lists;
}

absl::StatusOr<Topology> ReadTopology(const std::string& root) {
  Topology topology;
  ASSIGN_OR_RETURN(topology.lists, ReadCpuLists(root));
  const int nr_cpu_ids = topology.lists.nr_cpu_ids();
  if (nr_cpu_ids > STEWARD_MAX_CPUS) {
    return absl::OutOfRangeError(
        absl::StrCat("this machine has ", nr_cpu_ids, " CPU ids and scx_steward is built for ",
                     STEWARD_MAX_CPUS, "; raise STEWARD_MAX_CPUS and build again"));
  }

  std::map<int, Place> places;
  for (const int cpu : topology.lists.possible) {
    places[cpu] = ReadPlace(absl::StrCat(root, kCpuDir, "cpu", cpu), cpu);
  }
  GuessUnknownCaches(topology.lists.possible, places);

  DenseIds llcs;
  DenseIds nodes;
  DenseIds cores;
  topology.cpus.resize(static_cast<size_t>(nr_cpu_ids));
  for (const auto& [cpu, place] : places) {
    steward_cpu& entry = topology.cpus[static_cast<size_t>(cpu)];
    // A node with no cache known is one LLC; its key cannot be a package's.
    entry.llc = llcs.Get(place.llc.value_or(std::pair<int, int>(kByPackage, -1 - place.node)));
    entry.node = nodes.Get({place.node, 0});
    entry.core = cores.Get({place.core, 0});
    entry.capacity = static_cast<uint16_t>(place.capacity);
    entry.flags = STEWARD_CPU_POSSIBLE;
    if (Contains(topology.lists.nohz_full, cpu)) {
      entry.flags = static_cast<uint16_t>(entry.flags | STEWARD_CPU_QUIET);
    }
  }
  topology.nr_llcs = llcs.size();
  topology.nr_nodes = nodes.size();
  topology.nr_cores = cores.size();
  return topology;
}

}  // namespace steward
