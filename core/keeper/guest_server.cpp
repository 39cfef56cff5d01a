#include "core/keeper/guest_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/base/clock.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

using guest::Message;
using guest::MessageType;

constexpr auto kEnd = std::chrono::milliseconds(2000);  // from its last word to its end
constexpr auto kRetry = std::chrono::milliseconds(2);

enum class Sent { sent, later, never };
Sent try_to_send(int socket, const EncodedPacket& packet) {
  // The control buffer holds descriptors of one `run` at most.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * guest::kMostRunDescriptors)] = {};
  iovec data{const_cast<unsigned char*>(packet.bytes.data()), packet.bytes.size()};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!packet.descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * packet.descriptors.size());
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * packet.descriptors.size());
    for (std::size_t i = 0; i < packet.descriptors.size(); ++i) {
      const int fd = packet.descriptors[i].get();
      std::memcpy(CMSG_DATA(part) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Sent::sent;
  // unix(7): ETOOMANYREFS while more descriptors are in flight than this user may have open.
  return errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS ? Sent::later : Sent::never;
}

ProcessNews lost_news(Failure failure) {
  ProcessNews news;
  news.kind = ProcessNews::Kind::failed;
  news.failure = std::move(failure);
  return news;
}

}  // namespace

GuestServer::GuestServer(std::shared_ptr<EventLoop> loop, ServingGuest guest, std::string backend)
    : loop_(std::move(loop)), guest_(std::move(guest)), backend_(std::move(backend)) {}

void GuestServer::start() {
  socket_watched_ = process_watched_ = true;
  loop_->watch(guest_.socket.get(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->readable();
  });
  loop_->watch(guest_.process->event_fd(), POLLIN, [weak = weak_from_this()](short) {
    if (const auto self = weak.lock()) self->read_process();
  });
}

// ---- what it says -----------------------------------------------------------------

void GuestServer::readable() {
  while (socket_watched_) {
    // One byte more than a message, so that a longer packet shows; no room for descriptors.
    unsigned char buffer[sizeof(Message) + 1];
    const ssize_t got = ::recv(guest_.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      return socket_closed(make_failure(FailureKind::environment_lost, Phase::run, "the environment ended", "guest"));
    }
    Message message;
    std::memcpy(&message, buffer, sizeof message);
    if (got != static_cast<ssize_t>(sizeof message) || !take(message)) {
      return socket_closed(make_failure(FailureKind::protocol_error, Phase::run,
                                        "the environment's first process broke its protocol", "guest"));
    }
  }
}

bool GuestServer::take(const Message& message) {
  if (message.type != MessageType::over) return false;
  const auto found = running_.find(message.number);
  if (found == running_.end()) return false;
  const auto process = std::move(found->second);
  running_.erase(found);
  ProcessNews news;
  // It may lie: only what can be an errno is taken as one.
  const int error = message.error_number > 0 && message.error_number < 4096 ? message.error_number : 0;
  if (message.step != guest::Step::none) {
    news = lost_news(make_failure(FailureKind::spawn_failed, Phase::spawn,
                                  fmt::format("the environment has no room for one more command: {}",
                                              error != 0 ? std::strerror(error) : "no reason given"),
                                  "fork", error, "end some of those that run in it"));
  } else if (error != 0) {
    news = lost_news(make_failure(FailureKind::environment_lost, Phase::run,
                                  "something of the command could not be killed", "kill", error));
    news.perhaps_left = true;
  } else {
    news.kind = ProcessNews::Kind::ended;
    news.wait_status = message.wait_status;
  }
  process->conclude(std::move(news));
  return true;
}

void GuestServer::read_process() {
  ProcessNews news = guest_.process->news();
  switch (news.kind) {
    case ProcessNews::Kind::nothing:
    case ProcessNews::Kind::started: return;
    case ProcessNews::Kind::failed:
      if (news.failure.kind != FailureKind::protocol_error) news.failure.kind = FailureKind::environment_lost;
      news.failure.phase = Phase::run;
      return lose(std::move(news.failure), false);
    case ProcessNews::Kind::ended: return lose(first_process_ended(news.wait_status, Phase::run), true);
  }
}

// Nothing it says counts from now on. Its end follows, and with it, where it is process 1, the proof that its
// commands are gone; they wait for that.
void GuestServer::socket_closed(Failure failure) {
  loop_->unwatch(guest_.socket.get());
  socket_watched_ = false;
  ::shutdown(guest_.socket.get(), SHUT_RDWR);
  lost_ = std::move(failure);
  end_timer_ = loop_->at(deadline_after(kEnd), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->end_timer_ = 0;
    self->lose(*self->lost_, false);
  });
}

void GuestServer::lose(Failure failure, bool proven) {
  if (!lost_) lost_ = std::move(failure);
  if (socket_watched_) loop_->unwatch(guest_.socket.get());
  if (process_watched_) loop_->unwatch(guest_.process->event_fd());
  socket_watched_ = process_watched_ = false;
  loop_->cancel(std::exchange(retry_, 0));
  loop_->cancel(std::exchange(end_timer_, 0));
  waiting_.clear();
  for (const auto& [number, process] : std::exchange(running_, {})) {
    ProcessNews news = lost_news(*lost_);
    news.perhaps_left = !proven;
    process->conclude(std::move(news));
  }
}

// ---- what it is told --------------------------------------------------------------

Result<std::shared_ptr<ServedProcess>> GuestServer::run(UniqueFd control, std::vector<UniqueFd> stdio) {
  if (lost_) {
    return unexpected(make_failure(FailureKind::environment_lost, Phase::spawn,
                                   "the environment is gone: " + lost_->message, "guest"));
  }
  UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  if (!event) {
    return unexpected(make_failure(FailureKind::spawn_failed, Phase::spawn, "no descriptor is left for the command",
                                   "descriptors", errno, "raise the limit of open files (ulimit -n)"));
  }
  while (next_ <= 0 || running_.contains(next_)) next_ = next_ == INT32_MAX ? 1 : next_ + 1;
  const std::int32_t number = next_;
  next_ = number == INT32_MAX ? 1 : number + 1;
  const auto process = std::make_shared<ServedProcess>(loop_, weak_from_this(), number, std::move(event));
  running_[number] = process;
  Message message;
  message.type = MessageType::run;
  message.version = guest::kProtocolVersion;
  message.number = number;
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(std::move(control));
  for (UniqueFd& fd : stdio) descriptors.push_back(std::move(fd));
  send(message, std::move(descriptors));
  return process;
}

void GuestServer::end(std::int32_t number) {
  if (lost_ || !running_.contains(number) || take_back(number)) return;
  Message message;
  message.type = MessageType::end;
  message.version = guest::kProtocolVersion;
  message.number = number;
  send(message, {});
}

// A command that the guest has not been told of: nothing of it can be left. False: it has.
bool GuestServer::take_back(std::int32_t number) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [number](const EncodedPacket& packet) {
    Message message;
    std::memcpy(&message, packet.bytes.data(), sizeof message);
    return message.type == MessageType::run && message.number == number;
  });
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  const auto process = running_.extract(number);
  process.mapped()->conclude(lost_news(make_failure(
      FailureKind::spawn_failed, Phase::spawn, "the environment could not be told of the command before it was stopped",
      "queue", 0,
      "it is overloaded, or this user has too many descriptors on their way through sockets (unix(7), ETOOMANYREFS)")));
  return true;
}

void GuestServer::send(const Message& message, std::vector<UniqueFd> descriptors) {
  EncodedPacket packet;
  packet.bytes.resize(sizeof message);
  std::memcpy(packet.bytes.data(), &message, sizeof message);
  packet.descriptors = std::move(descriptors);
  waiting_.push_back(std::move(packet));
  if (waiting_.size() == 1) send_waiting();
}

void GuestServer::send_waiting() {
  while (!waiting_.empty()) {
    const Sent sent = try_to_send(guest_.socket.get(), waiting_.front());
    if (sent == Sent::later) {
      retry_ = loop_->at(deadline_after(kRetry), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->retry_ = 0;
        self->send_waiting();
      });
      return;
    }
    if (sent == Sent::never) return;  // readable() learns why
    waiting_.pop_front();
  }
}

ServingGuest GuestServer::stop() {
  lose(make_failure(FailureKind::environment_lost, Phase::run, "the environment was closed", "close"), false);
  return std::move(guest_);
}

}  // namespace exechost::keeper
