// SPDX-License-Identifier: GPL-2.0-only
#include "loader/exit_watch.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "spdlog/spdlog.h"

namespace steward {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

// The kernel's multicast group of device events, as udev listens to.
constexpr unsigned kKernelEvents = 1;

int OpenEvents() {
  const int fd =
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelEvents;
  if (fd >= 0 && bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

}  // namespace

ExitWatch::ExitWatch(asio::io_context& io, std::function<void()> look)
    : look_(std::move(look)), events_(io), timer_(io) {
  if (const int fd = OpenEvents(); fd >= 0) {
    events_.assign(fd);
    WaitForEvent();
  } else {
    spdlog::info("no device events ({}); looking for the scheduler's end once a second",
                 std::strerror(errno));
    WaitForTime();
  }
}

void ExitWatch::Stop() {
  std::error_code ignored;
  events_.close(ignored);
  timer_.cancel();
}

void ExitWatch::WaitForEvent() {
  events_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](const std::error_code& error) {
                       if (error) return;
                       Drain();
                       WaitForEvent();
                       look_();
                     });
}

void ExitWatch::WaitForTime() {
  timer_.expires_after(kLookEvery);
  timer_.async_wait([this](const std::error_code& error) {
    if (error) return;
    WaitForTime();
    look_();
  });
}

// What the events say does not matter, and lost ones neither: each means "look".
void ExitWatch::Drain() {
  std::array<char, 8192> buffer;
  while (recv(events_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT) > 0 ||
         errno == ENOBUFS) {
    errno = 0;
  }
}

}  // namespace steward
