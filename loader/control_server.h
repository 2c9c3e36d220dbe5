// SPDX-License-Identifier: GPL-2.0-only
// Line server on a Unix stream socket: what arrives as a line goes to a handler, its answer goes
// back. Bounded in clients, line length and idle time, so that no client can hurt the scheduler's
// process.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace steward {

class ControlServer {
 public:
  using Handler = std::function<std::string(absl::string_view line)>;

  static constexpr size_t kMaxLine = size_t{64} << 10;
  static constexpr size_t kMaxClients = 32;

  ControlServer(asio::io_context& io, Handler handler);
  // Removes the socket, unless another process has put its own there.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Makes the folder if need be, and takes the place of a socket that another process left.
  absl::Status Listen(const std::string& path);

 private:
  class Session;

  void Accept();
  void AcceptLater();

  Handler handler_;
  asio::local::stream_protocol::acceptor acceptor_;
  asio::steady_timer retry_;
  bool refusing_ = false;  // said so in the log
  std::set<std::shared_ptr<Session>> sessions_;
  std::string path_;
  ino_t inode_ = 0;  // of the socket we made at path_
};

}  // namespace steward
