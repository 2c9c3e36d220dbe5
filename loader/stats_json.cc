// SPDX-License-Identifier: GPL-2.0-only
#include "loader/stats_json.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace steward {
namespace {

using Json = nlohmann::ordered_json;

// Reads one number; notes the first that is absent or no number that fits.
class NumberReader {
 public:
  NumberReader(const Json& json, std::string& fault) : json_(json), fault_(fault) {}

  template <typename T>
  void operator()(const char* name, T& value) const {
    const auto it = json_.find(name);
    if (it == json_.end() || !it->is_number_integer()) {
      if (fault_.empty()) fault_ = name;
      return;
    }
    value = it->template get<T>();
  }

 private:
  const Json& json_;
  std::string& fault_;
};

}  // namespace

Json StatsToJson(const StatsSnapshot& stats) {
  Json json;
  VisitMachine(stats, [&](const char* name, auto value) { json[name] = value; });
  json["moved"] = {{"llc", stats.balance.moved_llc},
                   {"node", stats.balance.moved_node},
                   {"machine", stats.balance.moved_machine},
                   {"offline", stats.balance.moved_offline}};
  json["pass_ns"] = {{"last", stats.balance.pass_ns_last},
                     {"max", stats.balance.pass_ns_max},
                     {"sum", stats.balance.pass_ns_sum}};
  const steward_local sum = SumOfCpus(stats);
#define STEWARD_CPU_STAT(name, help) json[#name] = sum.name;
#include "steward/stats.def"
  json["cpus"] = Json::array();
  for (const CpuStats& cpu : stats.cpus) {
    Json entry;
    VisitCpu(cpu, [&](const char* name, auto value) { entry[name] = value; });
    json["cpus"].push_back(std::move(entry));
  }
  return json;
}

absl::StatusOr<StatsSnapshot> StatsFromJson(const Json& json) {
  StatsSnapshot stats;
  std::string fault;
  if (!json.is_object() || !json.contains("cpus") || !json["cpus"].is_array()) {
    return absl::DataLossError("the answer holds no statistics");
  }
  VisitMachine(stats, NumberReader(json, fault));
  for (const Json& entry : json["cpus"]) {
    CpuStats cpu;
    VisitCpu(cpu, NumberReader(entry, fault));
    stats.cpus.push_back(cpu);
  }
  if (!fault.empty()) {
    return absl::DataLossError(
        absl::StrCat("the statistics lack '", fault, "'; do both programs have the same version?"));
  }
  return stats;
}

Json StatsSchema() {
  Json schema = Json::array();
#define STEWARD_PASS_STAT(name, help) \
  schema.push_back({{"name", #name}, {"scope", "machine"}, {"type", "u64"}, {"help", help}});
#define STEWARD_CPU_STAT(name, help) \
  schema.push_back({{"name", #name}, {"scope", "cpu"}, {"type", "u64"}, {"help", help}});
#include "steward/stats.def"
  return schema;
}

}  // namespace steward
