#include "tests/unit/guest/support/serve_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace exechost::guest::test {

namespace {

// The child, until exec. Only one thread, so anything goes.
[[noreturn]] void become_guest(const Launch& launch) {
  int high[4];
  for (int i = 0; i < 3; ++i) high[i] = ::fcntl(launch.stdio[i], F_DUPFD_CLOEXEC, 30);
  high[3] = ::fcntl(launch.control, F_DUPFD_CLOEXEC, 30);
  ::setsid();  // a launcher has its own session, too
  enter(launch.place);
  const int first = launch.other_numbers ? 4 : 0;
  const std::string program = launch.program.empty() ? launch.programs.guest() : launch.program;
  std::vector<char*> arguments{const_cast<char*>("exechost-guest"), const_cast<char*>(launch.mode)};
  if (!launch.interpreter.empty()) {
    arguments.front() = const_cast<char*>(program.c_str());
    arguments.insert(arguments.begin(), const_cast<char*>(launch.interpreter.c_str()));
  }
  if (launch.stream) arguments.push_back(const_cast<char*>("--stream"));
  if (launch.other_numbers) {
    arguments.push_back(const_cast<char*>("--stdin-fd=4"));
    arguments.push_back(const_cast<char*>("--stdout-fd=5"));
    arguments.push_back(const_cast<char*>("--stderr-fd=6"));
  }
  arguments.push_back(nullptr);
  for (int i = 0; i < 3; ++i) ::dup2(high[i], first + i);
  if (!launch.stream) ::dup2(high[3], kControlFd);
  for (const int fd : launch.leaked) ::fcntl(fd, F_SETFD, 0);
  char* no_environment[] = {nullptr};
  ::execve(launch.interpreter.empty() ? program.c_str() : launch.interpreter.c_str(), arguments.data(), no_environment);
  ::_exit(121);
}

}  // namespace

pid_t launch_guest(const Launch& launch) {
  const pid_t pid = plain_fork();
  if (pid == 0) become_guest(launch);
  return pid;
}

ServeProcess::ServeProcess(const StagedPrograms& programs, const SpecWriter& spec, Place place) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  control_.reset(sockets[0]);
  const UniqueFd guest_control(sockets[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int stdio[3] = {null.get(), null.get(), null.get()};
  launcher_ = launch_guest({programs, place, "serve", guest_control.get(), stdio, true});
  auto sealed = spec.seal();
  EXPECT_TRUE(sealed);
  if (sealed) {
    EXPECT_TRUE(send_spec(control_.get(), sealed->get()));
  }
}

ServeProcess::~ServeProcess() {
  if (launcher_ > 0) close_and_wait();
}

int ServeProcess::run_as(int number, const std::vector<int>& descriptors) {
  Message message;
  message.type = MessageType::run;
  message.version = kProtocolVersion;
  message.number = number;
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(part), descriptors.data(), sizeof(int) * descriptors.size());
  }
  EXPECT_EQ(::sendmsg(control_.get(), &header, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof message));
  return number;
}

void ServeProcess::end(int number) {
  Message message;
  message.type = MessageType::end;
  message.version = kProtocolVersion;
  message.number = number;
  send(&message, sizeof message);
}

void ServeProcess::send(const void* bytes, std::size_t size) {
  EXPECT_EQ(::send(control_.get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
}

bool ServeProcess::read_one() {
  pollfd ready{control_.get(), POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) != 1) return false;
  Message message;
  if (::recv(control_.get(), &message, sizeof message, 0) != static_cast<ssize_t>(sizeof message)) return false;
  messages_.push_back(message);
  return true;
}

Message ServeProcess::wait_first() {
  while (messages_.empty() && read_one()) {
  }
  EXPECT_FALSE(messages_.empty()) << "the guest said nothing";
  return messages_.empty() ? Message{} : messages_.front();
}

Message ServeProcess::wait_over(int number) {
  for (std::size_t at = 0;; ++at) {
    if (at == messages_.size() && !read_one()) break;
    if (messages_[at].type == MessageType::over && messages_[at].number == number) return messages_[at];
  }
  ADD_FAILURE() << "the guest did not say that command " << number << " is over";
  return {};
}

int ServeProcess::close_and_wait() {
  control_.reset();
  int status = -1;
  if (::waitpid(std::exchange(launcher_, -1), &status, 0) < 0) ADD_FAILURE() << "waitpid: errno " << errno;
  return status;
}

}  // namespace exechost::guest::test
