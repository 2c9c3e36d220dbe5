// SPDX-License-Identifier: GPL-2.0-only
// Client and server together, over a real Unix socket in a temporary folder.
#include "loader/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "loader/control_server.h"
#include "tests/unit/fake_root.h"

namespace steward {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Serves from a thread of its own; answers with what it was asked.
class ControlClientTest : public ::testing::Test {
 protected:
  ControlClientTest() : path_(root_.path() + "/run/steward/control.sock") {}
  ~ControlClientTest() override { Stop(); }

  void Serve() {
    server_ = std::make_unique<ControlServer>(io_, [](absl::string_view line) {
      const Json request = Json::parse(line.begin(), line.end(), nullptr, false);
      if (request.is_object() && request["req"] == "fail") {
        return std::string(R"({"errno":22,"args":{"resp":"no such thing"}})");
      }
      if (request.is_object() && request["req"] == "nonsense") return std::string("hello");
      return Json({{"errno", 0}, {"args", {{"resp", request}}}}).dump();
    });
    ASSERT_TRUE(server_->Listen(path_).ok());
    thread_ = std::thread([this] { io_.run(); });
  }

  void Stop() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  // A connected socket without the client's manners.
  int RawSocket() {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ConnectRaw(fd);
    return fd;
  }

  void ConnectRaw(int fd) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }

  static std::string ReadAll(int fd) {
    std::string text;
    char c = 0;
    while (read(fd, &c, 1) == 1) text.push_back(c);
    return text;
  }

  FakeRoot root_;
  std::string path_;
  asio::io_context io_;
  std::unique_ptr<ControlServer> server_;
  std::thread thread_;
};

// Several requests over one connection.
TEST_F(ControlClientTest, CallsAndAnswers) {
  Serve();
  auto client = ControlClient::Connect(path_);
  ASSERT_TRUE(client.ok()) << client.status();
  for (int i = 0; i < 3; i++) {
    const auto answer = client->Call("echo", {{"i", i}});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ((*answer)["args"]["i"], i);
  }
}

// The scheduler's sentence arrives as the status.
TEST_F(ControlClientTest, RefusalIsTheServersSentence) {
  Serve();
  auto client = ControlClient::Connect(path_);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->Call("fail").status().message(), "no such thing");
}

// Somebody else's socket: said, not crashed on.
TEST_F(ControlClientTest, AnswerThatMakesNoSense) {
  Serve();
  auto client = ControlClient::Connect(path_);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_THAT(std::string(client->Call("nonsense").status().message()), HasSubstr("no sense"));
}

// Nobody there, or only a file that a dead process left: "not running".
TEST_F(ControlClientTest, NotRunning) {
  EXPECT_TRUE(absl::IsUnavailable(ControlClient::Connect(path_).status()));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  std::filesystem::create_directories(root_.path() + "/run/steward");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  const absl::Status status = ControlClient::Connect(path_).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("not running"));
  Serve();  // takes its place
  EXPECT_TRUE(ControlClient::Connect(path_).ok());
}

// Folder for all to enter, socket for the owner only; gone after a clean end.
TEST_F(ControlClientTest, ModesAndCleanUp) {
  Serve();
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((root_.path() + "/run/steward").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755U);
  Stop();
  EXPECT_NE(stat(path_.c_str(), &info), 0);
}

// A successor's socket at the same place is left alone.
TEST_F(ControlClientTest, LeavesASuccessorsSocket) {
  Serve();
  root_.Write("/run/steward/other", "");
  std::filesystem::rename(root_.path() + "/run/steward/other", path_);
  Stop();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

// A line without end is cut off with a sentence; others are still served.
TEST_F(ControlClientTest, OversizeLine) {
  Serve();
  const int fd = RawSocket();
  const std::string junk(ControlServer::kMaxLine, 'x');
  ASSERT_EQ(send(fd, junk.data(), junk.size(), MSG_NOSIGNAL), static_cast<ssize_t>(junk.size()));
  EXPECT_THAT(ReadAll(fd), HasSubstr("too long"));
  close(fd);
  EXPECT_TRUE(ControlClient::Connect(path_)->Call("echo").ok());
}

// Half a line, then silence and the end: nothing is answered, nothing breaks.
TEST_F(ControlClientTest, UnfinishedLine) {
  Serve();
  const int fd = RawSocket();
  ASSERT_EQ(send(fd, "{\"req\"", 6, MSG_NOSIGNAL), 6);
  shutdown(fd, SHUT_WR);
  EXPECT_EQ(ReadAll(fd), "");
  close(fd);
  EXPECT_TRUE(ControlClient::Connect(path_)->Call("echo").ok());
}

// Two lines in one packet get two answers, in order.
TEST_F(ControlClientTest, TwoLinesAtOnce) {
  Serve();
  const int fd = RawSocket();
  const std::string lines = "{\"req\":\"a\"}\n{\"req\":\"b\"}\n";
  ASSERT_EQ(send(fd, lines.data(), lines.size(), MSG_NOSIGNAL), static_cast<ssize_t>(lines.size()));
  shutdown(fd, SHUT_WR);
  const std::string answers = ReadAll(fd);
  close(fd);
  EXPECT_LT(answers.find("\"a\""), answers.find("\"b\""));
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 2);
}

// One client more than allowed is let go; the others are served.
TEST_F(ControlClientTest, TooManyClients) {
  Serve();
  std::vector<ControlClient> clients;
  for (size_t i = 0; i < ControlServer::kMaxClients; i++) {
    auto client = ControlClient::Connect(path_);
    ASSERT_TRUE(client.ok());
    ASSERT_TRUE(client->Call("echo").ok());
    clients.push_back(*std::move(client));
  }
  auto late = ControlClient::Connect(path_);
  EXPECT_TRUE(!late.ok() || !late->Call("echo").ok());
  EXPECT_TRUE(clients.front().Call("echo").ok());
}

// Without file descriptors nobody is served; with them again, whoever waits is.
TEST_F(ControlClientTest, OutOfDescriptors) {
  Serve();
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ConnectRaw(fd);
  ASSERT_EQ(send(fd, "{\"req\":1}\n", 10, MSG_NOSIGNAL), 10);
  const timeval moment = {0, 50000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
  EXPECT_EQ(ReadAll(fd), "");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  shutdown(fd, SHUT_WR);
  const timeval enough = {20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &enough, sizeof(enough));
  EXPECT_THAT(ReadAll(fd), HasSubstr("resp"));
  close(fd);
}

// A path that no socket can have, and a folder that cannot be made.
TEST_F(ControlClientTest, BadPaths) {
  ControlServer server(io_, [](absl::string_view) { return std::string(); });
  EXPECT_FALSE(server.Listen(root_.path() + "/" + std::string(200, 'x')).ok());
  root_.Write("/file", "");
  EXPECT_THAT(std::string(server.Listen(root_.path() + "/file/sock").message()),
              HasSubstr("cannot make the folder"));
  EXPECT_FALSE(ControlClient::Connect("/" + std::string(200, 'x')).ok());
}

}  // namespace
}  // namespace steward
