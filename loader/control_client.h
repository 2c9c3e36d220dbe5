// SPDX-License-Identifier: GPL-2.0-only
// The client's end of the control socket: blocking, with a time limit, for stewardctl and
// `scx_steward --monitor`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace steward {

inline constexpr char kControlSocket[] = "/run/scx_steward/control.sock";

class ControlClient {
 public:
  // Unavailable if no scheduler listens there.
  static absl::StatusOr<ControlClient> Connect(const std::string& path);
  ~ControlClient();
  ControlClient(ControlClient&& other) noexcept;
  ControlClient& operator=(ControlClient&&) = delete;

  // The answer's payload, an object; a status with the scheduler's sentence if it refuses.
  absl::StatusOr<nlohmann::ordered_json> Call(
      const std::string& command,
      const nlohmann::ordered_json& args = nlohmann::ordered_json::object());

 private:
  explicit ControlClient(int fd) : fd_(fd) {}

  absl::StatusOr<std::string> ReadLine();

  int fd_;
  std::string input_;
};

}  // namespace steward
