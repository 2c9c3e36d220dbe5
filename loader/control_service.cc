// SPDX-License-Identifier: GPL-2.0-only
#include "loader/control_service.h"

#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "loader/base/status_macros.h"
#include "loader/stats_json.h"
#include "loader/tunables.h"
#include "nlohmann/json.hpp"

namespace steward {
namespace {

using Json = nlohmann::ordered_json;

// What the scheduler has in force, as users write it.
Json TunablesToJson(const steward_tunables& tunables) {
  Json json;
  for (const Knob& knob : Knobs()) json[knob.name] = tunables.*knob.field;
  if (tunables.timer_cpu == STEWARD_NO_CPU) {
    json[kTimerCpuKnob] = "auto";
  } else {
    json[kTimerCpuKnob] = tunables.timer_cpu;
  }
  return json;
}

Json Schema() {
  Json knobs = Json::array();
  for (const Knob& knob : Knobs()) {
    knobs.push_back({{"name", knob.name},
                     {"unit", knob.unit},
                     {"min", knob.min},
                     {"max", knob.max},
                     {"default", knob.default_value},
                     {"why", knob.why}});
  }
  knobs.push_back(
      {{"name", kTimerCpuKnob}, {"unit", "cpu"}, {"default", "auto"}, {"why", kTimerCpuWhy}});
  return {{"knobs", std::move(knobs)}, {"stats", StatsSchema()}};
}

// Values may be JSON strings or whole numbers.
absl::StatusOr<std::map<std::string, std::string>> ToChanges(const Json& args) {
  std::map<std::string, std::string> changes;
  for (const auto& [knob, value] : args.items()) {
    if (value.is_string()) {
      changes[knob] = value.get<std::string>();
    } else if (value.is_number_integer()) {
      changes[knob] = value.dump();
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(knob, ": the value must be a string or a whole number"));
    }
  }
  if (changes.empty()) {
    return absl::InvalidArgumentError("set needs args, such as {\"slice_us\":\"3000\"}");
  }
  return changes;
}

int ErrnoOf(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ? EAGAIN : EINVAL;
}

}  // namespace

ControlService::ControlService(std::string version,
                               std::function<absl::StatusOr<CpuLists>()> cpu_lists)
    : version_(std::move(version)), cpu_lists_(std::move(cpu_lists)) {}

std::string ControlService::Handle(absl::string_view line) {
  const absl::StatusOr<Json> answer = Dispatch(line);
  Json reply;
  if (answer.ok()) {
    reply = {{"errno", 0}, {"args", {{"resp", *answer}}}};
  } else {
    reply = {{"errno", ErrnoOf(answer.status())},
             {"args", {{"resp", std::string(answer.status().message())}}}};
  }
  // Echoed input may be no valid UTF-8.
  return reply.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Json> ControlService::Dispatch(absl::string_view line) {
  const Json request = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!request.is_object()) return absl::InvalidArgumentError("the request is not a JSON object");
  const auto req = request.find("req");
  if (req == request.end() || !req->is_string()) {
    return absl::InvalidArgumentError("the request has no string 'req'");
  }
  const Json args = request.value("args", Json::object());
  if (!args.is_object()) return absl::InvalidArgumentError("'args' is not a JSON object");

  const std::string command = req->get<std::string>();
  if (command == "schema") return Schema();
  if (scheduler_ == nullptr) {
    return absl::UnavailableError("the scheduler is between two runs; try again");
  }
  if (command == "status") return Status();
  if (command == "stats") return StatsToJson(scheduler_->Stats());
  if (command == "get") return TunablesToJson(scheduler_->Tunables());
  if (command == "set") return Set(args);
  if (command == "reset") return Reset();
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown command '", command, "'; commands are status, get, set, reset, stats, schema"));
}

Json ControlService::Status() const {
  const StatsSnapshot stats = scheduler_->Stats();
  int online = 0;
  for (const CpuStats& cpu : stats.cpus) online += cpu.cell.seen.online != 0 ? 1 : 0;
  return {{"version", version_},
          {"pid", getpid()},
          {"uptime_s", (stats.time_ns - stats.start_ns) / 1000000000},
          {"cpus_online", online},
          {"timer_cpu", stats.steer.timer_cpu},
          {"passes", stats.balance.passes},
          {"waiting", stats.steer.waiting}};
}

absl::StatusOr<Json> ControlService::Set(const Json& args) {
  ASSIGN_OR_RETURN(const auto changes, ToChanges(args));
  ASSIGN_OR_RETURN(const CpuLists lists, cpu_lists_());
  steward_tunables tunables = scheduler_->Tunables();
  RETURN_IF_ERROR(ApplyChanges(changes, lists, tunables));
  RETURN_IF_ERROR(scheduler_->SetTunables(tunables));
  return TunablesToJson(scheduler_->Tunables());
}

absl::StatusOr<Json> ControlService::Reset() {
  RETURN_IF_ERROR(scheduler_->SetTunables(DefaultTunables()));
  return TunablesToJson(scheduler_->Tunables());
}

}  // namespace steward
