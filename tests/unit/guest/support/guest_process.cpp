#include "tests/unit/guest/support/guest_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace exechost::guest::test {

namespace {

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Pipe make_terminal() {
  int master = -1;
  int slave = -1;
  if (::openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "openpty");
  }
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  return {UniqueFd(master), UniqueFd(slave)};
}

// Reads what is there into `text`; closes at end-of-file (EIO: a terminal without a slave).
void read_into(UniqueFd& fd, std::string& text) {
  char buffer[65536];
  const ssize_t size = ::read(fd.get(), buffer, sizeof buffer);
  if (size > 0) {
    text.append(buffer, static_cast<std::size_t>(size));
  } else if (size == 0 || errno != EINTR) {
    fd.reset();
  }
}

}  // namespace

GuestProcess::GuestProcess(const StagedPrograms& programs, const SpecWriter& spec, GuestOptions options)
    : pending_input_(options.input), keep_input_open_(options.keep_input_open) {
  // Also what many a launcher does; the guest has to undo it for the command.
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  control_.reset(sockets[0]);
  UniqueFd guest_control(sockets[1]);

  UniqueFd ends[3];
  if (options.tty) {
    Pipe terminal = make_terminal();
    output_ = std::move(terminal.read);
    input_.reset(::fcntl(output_.get(), F_DUPFD_CLOEXEC, 0));
    for (auto& end : ends) end.reset(::fcntl(terminal.write.get(), F_DUPFD_CLOEXEC, 0));
    keep_input_open_ = true;
  } else {
    Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
    ends[0] = std::move(in.read);
    ends[1] = std::move(out.write);
    ends[2] = std::move(err.write);
    input_ = std::move(in.write);
    output_ = std::move(out.read);
    error_ = std::move(err.read);
    ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  }

  const int stdio[3] = {ends[0].get(), ends[1].get(), ends[2].get()};
  server_ = options.server;
  if (options.place.served && server_ == nullptr) {
    own_server_ = std::make_unique<ServeProcess>(programs, spec, options.place);
    server_ = own_server_.get();
  }
  SpecWriter own = spec;
  if (server_ != nullptr) {
    own.set_inherited(true);
    number_ = server_->run(guest_control.get(), stdio, options.further);
  } else {
    launcher_ = launch_guest(
        {programs, options.place, "exec", guest_control.get(), stdio, options.other_numbers, options.leaked});
  }
  guest_control.reset();
  if (options.send_spec) {
    auto sealed = options.spec_fd ? Result<UniqueFd>(std::move(*options.spec_fd)) : own.seal();
    EXPECT_TRUE(sealed);
    if (sealed) {
      EXPECT_TRUE(exechost::guest::send_spec(control_.get(), sealed->get()));
    }
  }
}

GuestProcess::~GuestProcess() {
  control_.reset();
  input_.reset();
  if (launcher_ > 0 && guest_status_ < 0) {
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
  }
}

void GuestProcess::signal(int number) {
  Message message;
  message.type = MessageType::signal;
  message.version = kProtocolVersion;
  message.number = number;
  ASSERT_EQ(::send(control_.get(), &message, sizeof message, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof message));
}

void GuestProcess::kill() {
  Message message;
  message.type = MessageType::kill;
  message.version = kProtocolVersion;
  ASSERT_EQ(::send(control_.get(), &message, sizeof message, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof message));
}

void GuestProcess::write_input(std::string_view bytes) { pending_input_ += bytes; }

void GuestProcess::read_messages() {
  Message message;
  const ssize_t size = ::recv(control_.get(), &message, sizeof message, MSG_DONTWAIT);
  if (size == static_cast<ssize_t>(sizeof message)) {
    messages_.push_back(message);
  } else if (size >= 0 || errno != EAGAIN) {
    EXPECT_LE(size, 0) << "a packet of a wrong size";
    control_.reset();
  }
}

void GuestProcess::pump(int timeout_ms) {
  if (pending_input_.empty() && !keep_input_open_) input_.reset();
  pollfd fds[4] = {{control_.get(), POLLIN, 0},
                   {output_.get(), POLLIN, 0},
                   {error_.get(), POLLIN, 0},
                   {pending_input_.empty() ? -1 : input_.get(), POLLOUT, 0}};
  if (::poll(fds, 4, timeout_ms) <= 0) return;
  if (fds[0].revents != 0) read_messages();
  if (fds[1].revents != 0) read_into(output_, out_);
  if (fds[2].revents != 0) read_into(error_, err_);
  if (fds[3].revents != 0) {
    const ssize_t size = ::write(input_.get(), pending_input_.data(), pending_input_.size());
    if (size > 0) pending_input_.erase(0, static_cast<std::size_t>(size));
    if (size < 0 && errno == EPIPE) pending_input_.clear();
  }
}

template <class Done>
bool GuestProcess::pump_until(const char* what, Done done) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) {
      ADD_FAILURE() << "waited in vain for " << what << "; stdout: " << out_ << " stderr: " << err_;
      return false;
    }
    pump(100);
  }
  return true;
}

bool GuestProcess::wait_for(MessageType type) {
  pump_until("a message", [&] { return find(type) != nullptr || !control_; });
  EXPECT_NE(find(type), nullptr) << "the guest is gone without a message " << static_cast<int>(type);
  return find(type) != nullptr;
}

bool GuestProcess::wait_for_output(std::string_view text) {
  return pump_until("output", [&] { return out_.find(text) != std::string::npos; });
}

bool GuestProcess::wait_for_closed_error() {
  return pump_until("the end of standard error", [&] { return !error_; });
}

bool GuestProcess::wait_for_closed_streams() {
  return pump_until("the end of its streams", [&] { return !output_ && !error_; });
}

bool GuestProcess::wait_for_refused_input() {
  pollfd end{input_.get(), 0, 0};
  const bool refused =
      ::poll(&end, 1, std::chrono::milliseconds(kPatience).count()) == 1 && (end.revents & POLLERR) != 0;
  EXPECT_TRUE(refused) << "somebody still holds the command's standard input";
  return refused;
}

bool GuestProcess::finish() {
  const bool closed = pump_until("the end of everything", [&] { return !control_ && !output_ && !error_; });
  if (server_ != nullptr) {
    const Message over = server_->wait_over(number_);
    EXPECT_EQ(over.error_number, 0) << "it is not proven that nothing is left";
    guest_status_ = over.wait_status;
    return closed;
  }
  if (!closed) ::kill(launcher_, SIGKILL);
  if (::waitpid(launcher_, &guest_status_, 0) != launcher_) ADD_FAILURE() << "waitpid: errno " << errno;
  return closed;
}

const Message* GuestProcess::find(MessageType type) const {
  for (const Message& message : messages_) {
    if (message.type == type) return &message;
  }
  return nullptr;
}

std::vector<MessageType> GuestProcess::types() const {
  std::vector<MessageType> types;
  for (const Message& message : messages_) types.push_back(message.type);
  return types;
}

SpecWriter spec_of(const std::vector<std::string>& arguments) {
  SpecWriter spec;
  for (const auto& argument : arguments) spec.add_argument(argument);
  spec.add_environment("PATH=/usr/bin:/bin");
  spec.set_seccomp_profile("base");
  return spec;
}

SpecWriter shell(std::string_view script, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"/bin/sh", "-c", std::string(script), "sh"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return spec_of(all);
}

UniqueFd memfd_of(std::string_view bytes, bool sealed) {
  UniqueFd fd(::memfd_create("test-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  if (sealed) {
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
  }
  return fd;
}

}  // namespace exechost::guest::test
