// SPDX-License-Identifier: GPL-2.0-only
// Wakes the loader when a scheduler may have ended. The kernel announces the end of one as a
// device event; so the loader sleeps until then and an idle machine stays idle. Where such events
// cannot be had (a sandbox without netlink) it looks once a second.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <functional>

namespace steward {

class ExitWatch {
 public:
  // `look` is called from io's loop, possibly without a reason.
  ExitWatch(asio::io_context& io, std::function<void()> look);

  void Stop();

 private:
  void WaitForEvent();
  void WaitForTime();
  void Drain();

  std::function<void()> look_;
  asio::posix::stream_descriptor events_;
  asio::steady_timer timer_;
};

}  // namespace steward
