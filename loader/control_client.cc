// SPDX-License-Identifier: GPL-2.0-only
#include "loader/control_client.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "loader/base/status_macros.h"

namespace steward {
namespace {

using Json = nlohmann::ordered_json;

// The daemon answers from memory; on a machine that does not answer in this time it is stuck.
constexpr timeval kTimeLimit = {5, 0};

absl::Status ConnectError(int error, const std::string& path) {
  struct stat info = {};
  if (path.empty() || (stat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is no socket"));
  }
  if (error == ENOENT || error == ECONNREFUSED) {
    return absl::UnavailableError(
        absl::StrCat("scx_steward is not running (nobody listens on ", path, ")"));
  }
  const char* const hint = error == EACCES || error == EPERM ? "; run it as root" : "";
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat("cannot connect to ", path, ": ", std::strerror(error), hint));
}

}  // namespace

ControlClient::~ControlClient() {
  if (fd_ >= 0) close(fd_);
}

ControlClient::ControlClient(ControlClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), input_(std::move(other.input_)) {}

absl::StatusOr<ControlClient> ControlClient::Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is too long: ", path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ControlClient client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client.fd_ < 0) return absl::ErrnoToStatus(errno, "cannot make a socket");
  setsockopt(client.fd_, SOL_SOCKET, SO_RCVTIMEO, &kTimeLimit, sizeof(kTimeLimit));
  setsockopt(client.fd_, SOL_SOCKET, SO_SNDTIMEO, &kTimeLimit, sizeof(kTimeLimit));
  if (connect(client.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return ConnectError(errno, path);
  }
  return client;
}

absl::StatusOr<Json> ControlClient::Call(const std::string& command, const Json& args) {
  const Json request = {{"req", command}, {"args", args}};
  const std::string text = request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0) return absl::UnavailableError("the scheduler has closed the connection");
    sent += static_cast<size_t>(n);
  }
  ASSIGN_OR_RETURN(const std::string line, ReadLine());
  const Json reply = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const Json::json_pointer resp("/args/resp");
  if (!reply.is_object() || !reply.contains("errno") || !reply["errno"].is_number_integer() ||
      !reply.contains(resp) || (reply["errno"] == 0 && !reply[resp].is_object())) {
    return absl::DataLossError("the scheduler's answer makes no sense; is it another program?");
  }
  const int error = reply["errno"].get<int>();
  if (error == 0) return reply[resp];
  return absl::Status(absl::ErrnoToStatusCode(error), reply[resp].is_string()
                                                          ? reply[resp].get<std::string>()
                                                          : reply[resp].dump());
}

absl::StatusOr<std::string> ControlClient::ReadLine() {
  for (;;) {
    if (const size_t end = input_.find('\n'); end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return line;
    }
    std::array<char, 16384> buffer;
    const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
    if (n > 0) {
      input_.append(buffer.data(), static_cast<size_t>(n));
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return absl::DeadlineExceededError("the scheduler's process does not answer");
    } else {
      return absl::UnavailableError("the scheduler has closed the connection");
    }
  }
}

}  // namespace steward
