// SPDX-License-Identifier: GPL-2.0-only
// The control protocol: one JSON object per line, both ways, framed as the scx_stats protocol is:
//   {"req":"set","args":{"slice_us":"3000"}}      {"errno":0,"args":{"resp":{...}}}
// errno 0 is success; else resp is a sentence. A line in, a line out; no sockets here.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "loader/scheduler.h"
#include "loader/topology.h"
#include "nlohmann/json_fwd.hpp"

namespace steward {

class ControlService {
 public:
  // cpu_lists: asked anew for every change, since CPUs come and go.
  ControlService(std::string version, std::function<absl::StatusOr<CpuLists>()> cpu_lists);

  // The scheduler to act on; null between two runs, when requests are answered with an error.
  void SetScheduler(Scheduler* scheduler) { scheduler_ = scheduler; }

  // One request without its line break to one answer without one.
  std::string Handle(absl::string_view line);

 private:
  absl::StatusOr<nlohmann::ordered_json> Dispatch(absl::string_view line);
  [[nodiscard]] nlohmann::ordered_json Status() const;
  absl::StatusOr<nlohmann::ordered_json> Set(const nlohmann::ordered_json& args);
  absl::StatusOr<nlohmann::ordered_json> Reset();

  std::string version_;
  std::function<absl::StatusOr<CpuLists>()> cpu_lists_;
  Scheduler* scheduler_ = nullptr;
};

}  // namespace steward
