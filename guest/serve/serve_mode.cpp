#include "guest/serve/serve_mode.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "guest/confine/confine.hpp"
#include "guest/control.hpp"
#include "guest/exec/stdio.hpp"
#include "guest/exec/supervisor.hpp"
#include "guest/own_process.hpp"
#include "guest/serve/supervisors.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

namespace {

class Server final : private OverHandler {
 public:
  Server(const Message& confined, Supervisors& supervisors, int signal_fd)
      : confined_(confined), supervisors_(supervisors), signal_fd_(signal_fd) {}

  int run() {
    bool watching = epoll_fd_ >= 0 && watch(kControlFd) && watch(signal_fd_);
    while (watching && open_) {
      epoll_event event{};
      const int timeout = supervisors_.timeout_ms();
      const int count = ::epoll_wait(epoll_fd_, &event, 1, timeout);
      if (count > 0 && event.data.fd == kControlFd) read_control();
      if (timeout >= 0 || (count > 0 && event.data.fd == signal_fd_)) supervisors_.reap(signal_fd_, *this);
      watching = count >= 0 || errno == EINTR;
    }
    return supervisors_.end_everything() ? kExitDone : kExitNotProven;
  }

 private:
  bool watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void read_control() {
    for (;;) {
      Message message;
      int descriptors[kMostRunDescriptors];
      int count = 0;
      const Received received = receive_with(message, descriptors, count);
      if (received == Received::nothing) return;
      const bool runs = message.type == MessageType::run && count >= kRunDescriptors && count <= kMostRunDescriptors;
      const bool ends = message.type == MessageType::end && count == 0;
      // Who breaks the protocol gets no more say.
      if (received == Received::closed || (!runs && !ends)) {
        open_ = false;
        return;
      }
      if (ends) supervisors_.end(message.number);
      if (runs) {
        if (const int error = supervisors_.start(message.number, descriptors, count, confined_); error != 0)
          send_over(message.number, 0, error, Step::fork);
        for (int i = 0; i < count; ++i) ::close(descriptors[i]);
      }
    }
  }

  void over(std::int32_t number, int wait_status, int error) override {
    send_over(number, wait_status, error, Step::none);
  }

  static void send_over(std::int32_t number, int wait_status, int error, Step step) {
    Message over;
    over.type = MessageType::over;
    over.version = kProtocolVersion;
    over.number = number;
    over.wait_status = wait_status;
    over.step = step;
    over.error_number = error;
    send(over);
  }

  const Message confined_;
  Supervisors& supervisors_;
  const int signal_fd_;
  const int epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  bool open_ = true;
};

// Everything up to the first command.
Outcome prepare(Supervisors& supervisors, Message& confined) {
  int spec_fd = -1;
  if (const Outcome outcome = receive_spec(spec_fd); !outcome.ok()) {
    ::close(spec_fd);
    return outcome;
  }
  Spec spec;
  if (const Outcome outcome = read_spec(spec_fd, spec); !outcome.ok()) return outcome;
  if (spec.inherited) return failure(Step::read_spec, EPROTO);
  if (const Outcome outcome = supervisors.prepare(); !outcome.ok()) return outcome;
  return spec.unconfined ? success() : confine(spec, confined);
}

}  // namespace

int run_serve_mode(const CommandStdio& stdio, const char* cgroups) {
  if (!has_control_socket()) return kExitUsage;
  protect_process();  // first of all
  reset_signals();
  for (const int fd : stdio.fds) {
    if (fd > STDERR_FILENO) ::close(fd);
  }
  Message confined;
  confined.type = MessageType::confined;
  confined.version = kProtocolVersion;
  Supervisors supervisors(cgroups);
  const int signal_fd = child_signals();
  const Outcome outcome = signal_fd < 0 ? failure(Step::descriptors, errno) : prepare(supervisors, confined);
  if (!outcome.ok()) {
    send_failed(outcome);
    return kExitNotStarted;
  }
  send(confined);
  return Server(confined, supervisors, signal_fd).run();
}

}  // namespace exechost::guest
