// SPDX-License-Identifier: GPL-2.0-only
#include "loader/control_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <asio/read_until.hpp>
#include <asio/streambuf.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace steward {
namespace {

using Protocol = asio::local::stream_protocol;

// A client that neither asks nor reads for this long is cut off.
constexpr std::chrono::seconds kIdleLimit{120};

// After no client could be taken.
constexpr std::chrono::milliseconds kRetryAfter{100};

ino_t InodeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

// Lets the socket appear with its final mode, not with one that is narrowed afterwards.
class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) : old_(umask(mask)) {}
  ~ScopedUmask() { umask(old_); }
  ScopedUmask(const ScopedUmask&) = delete;
  ScopedUmask& operator=(const ScopedUmask&) = delete;

 private:
  mode_t old_;
};

}  // namespace

// One client. Strictly a request, then its answer: a client that does not read is not read from.
class ControlServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ControlServer& server, Protocol::socket socket)
      : server_(server),
        socket_(std::move(socket)),
        idle_(socket_.get_executor()),
        input_(kMaxLine) {}

  void Read() {
    Watch();
    asio::async_read_until(socket_, input_, '\n',
                           [self = shared_from_this()](const std::error_code& error, size_t size) {
                             self->OnLine(error, size);
                           });
  }

  void Close() {
    std::error_code ignored;
    idle_.cancel();
    socket_.close(ignored);
  }

 private:
  void OnLine(const std::error_code& error, size_t size) {
    if (error == asio::error::not_found) {
      // The buffer is full and holds no line break.
      Write("{\"errno\":7,\"args\":{\"resp\":\"the line is too long\"}}\n", /*last=*/true);
      return;
    }
    if (error) {
      Leave();
      return;
    }
    const auto* const data = static_cast<const char*>(input_.data().data());
    std::string answer = server_.handler_(absl::string_view(data, size - 1));
    input_.consume(size);
    answer.push_back('\n');
    Write(std::move(answer), /*last=*/false);
  }

  void Write(std::string text, bool last) {
    output_ = std::move(text);
    asio::async_write(
        socket_, asio::buffer(output_),
        [self = shared_from_this(), last](const std::error_code& error, size_t /*size*/) {
          if (error || last) {
            self->Leave();
          } else {
            self->Read();
          }
        });
  }

  void Watch() {
    idle_.expires_after(kIdleLimit);
    idle_.async_wait([self = shared_from_this()](const std::error_code& error) {
      if (!error) self->Leave();
    });
  }

  // During the server's destruction it is no longer in the set.
  void Leave() {
    if (!socket_.is_open()) return;
    Close();
    server_.sessions_.erase(shared_from_this());
  }

  ControlServer& server_;
  Protocol::socket socket_;
  asio::steady_timer idle_;
  asio::streambuf input_;
  std::string output_;
};

ControlServer::ControlServer(asio::io_context& io, Handler handler)
    : handler_(std::move(handler)), acceptor_(io), retry_(io) {}

ControlServer::~ControlServer() {
  for (const auto& session : sessions_) session->Close();
  if (!path_.empty() && InodeOf(path_) == inode_) unlink(path_.c_str());
}

absl::Status ControlServer::Listen(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code error;
  {
    const ScopedUmask umask(0022);
    std::filesystem::create_directories(folder, error);
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", folder));
  }
  // Whoever made it is gone, or we would not be the scheduler of this machine.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot replace ", path));
  }
  const ScopedUmask umask(0177);
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is too long: ", path));
  }
  acceptor_.open(Protocol(), error);
  if (!error) acceptor_.bind(Protocol::endpoint(path), error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot listen on ", path));
  }
  path_ = path;
  inode_ = InodeOf(path);
  Accept();
  return absl::OkStatus();
}

void ControlServer::Accept() {
  acceptor_.async_accept([this](const std::error_code& error, Protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // Out of file descriptors, for instance. Trying again at once would spin.
      if (!refusing_) spdlog::warn("the control socket takes no client now: {}", error.message());
      refusing_ = true;
      AcceptLater();
      return;
    }
    refusing_ = false;
    if (sessions_.size() < kMaxClients) {
      const auto session = std::make_shared<Session>(*this, std::move(socket));
      sessions_.insert(session);
      session->Read();
    }
    Accept();
  });
}

void ControlServer::AcceptLater() {
  retry_.expires_after(kRetryAfter);
  retry_.async_wait([this](const std::error_code& error) {
    if (!error) Accept();
  });
}

}  // namespace steward
