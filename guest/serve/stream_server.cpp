#include "guest/serve/stream_server.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "guest/confine/confine.hpp"
#include "guest/exec/supervisor.hpp"

namespace exechost::guest {

namespace {

constexpr int kEventsPerRound = 64;
constexpr int kReadsPerRound = 8;
constexpr std::size_t kRoomForWords = 256;  // so much has to be free before frames are taken: an answer is never lost
constexpr std::uint32_t kMinOutputWindow = 4096;

constexpr Architecture kArchitecture =
#if defined(__x86_64__)
    Architecture::x86_64;
#elif defined(__aarch64__)
    Architecture::aarch64;
#else
#error "give this architecture a number in frames.hpp"
#endif

// The first packet of a supervisor's socket, as a keeper sends it (spec_writer.hpp, which the guest never includes).
bool send_spec_to(int socket, int spec_fd) {
  Message message;
  message.type = MessageType::spec;
  message.version = kProtocolVersion;
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* const attached = CMSG_FIRSTHDR(&header);
  attached->cmsg_level = SOL_SOCKET;
  attached->cmsg_type = SCM_RIGHTS;
  attached->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(attached), &spec_fd, sizeof spec_fd);
  return ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof message);
}

}  // namespace

bool StreamServer::watch(int fd, std::uint32_t events, std::uint32_t key) const {
  epoll_event event{};
  event.events = events | EPOLLET;
  event.data.u64 = std::uint64_t{key} << 32U;
  return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

int StreamServer::run() {
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  confined_.type = MessageType::confined;
  confined_.version = kProtocolVersion;
  supervisors_.raise_descriptor_limit();
  open_ =
      epoll_fd_ >= 0 && watch(in_, EPOLLIN, kIn) && watch(out_, EPOLLOUT, kOut) && watch(signal_fd_, EPOLLIN, kSignal);
  Hello hello;
  hello.architecture = kArchitecture;
  hello.page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  hello.max_executions = Executions::kMost;
  writer_.put(FrameType::hello, 0, hello);
  heard_ = beat_ = now_ms();
  flush();
  while (open_) {
    wait();
    more_ = false;
    read_frames();
    advance_all();
    flush();
    check_lease();
  }
  if (failed_) return kExitNotStarted;
  return supervisors_.end_everything() ? kExitDone : kExitNotProven;
}

int StreamServer::timeout() const {
  if (more_ && (out_ready_ || writer_.has_room(kMaxPayload + kRoomForWords))) return 0;
  const long now = now_ms();
  long until = heard_ + lease_ms_;
  if (beat_ + lease_ms_ / kHeartbeatsPerLease < until) until = beat_ + lease_ms_ / kHeartbeatsPerLease;
  long timeout = until > now ? until - now : 0;
  const int reaping = supervisors_.timeout_ms();
  if (reaping >= 0 && reaping < timeout) timeout = reaping;
  return static_cast<int>(timeout);
}

void StreamServer::wait() {
  epoll_event events[kEventsPerRound];
  const bool reaping = supervisors_.timeout_ms() >= 0;
  const int count = ::epoll_wait(epoll_fd_, events, kEventsPerRound, timeout());
  if (count < 0 && errno != EINTR) open_ = false;
  bool child = reaping;
  for (int i = 0; i < count; ++i) {
    const auto key = static_cast<std::uint32_t>(events[i].data.u64 >> 32U);
    if (key == kIn) {
      in_ready_ = true;
    } else if (key == kOut) {
      out_ready_ = true;
    } else if (key == kSignal) {
      child = true;
    } else if (StreamExecution* const execution = of_number(key); execution != nullptr) {
      execution->ready(static_cast<StreamExecution::Part>(events[i].data.u64 & 0xff), events[i].events);
    }
  }
  if (child) supervisors_.reap(signal_fd_, *this);
}

// Who was held up itself looks once more at what had come in the meantime.
void StreamServer::check_lease() {
  const long now = now_ms();
  if (now - heard_ >= lease_ms_) {
    in_ready_ = true;
    read_frames();
    if (now - heard_ >= lease_ms_) open_ = false;
  }
  if (now - beat_ < lease_ms_ / kHeartbeatsPerLease) return;
  beat_ = now;
  if (writer_.empty()) writer_.put(FrameType::heartbeat, 0);  // else it is heard, or nobody reads anyway
  flush();
}

// ---- frames in --------------------------------------------------------------------

void StreamServer::read_frames() {
  for (int i = 0; open_ && in_ready_; ++i) {
    FrameHeader header;
    const char* payload = nullptr;
    for (;;) {
      if (!writer_.has_room(kRoomForWords)) {
        more_ = true;
        return;
      }
      const FrameReader::Next next = reader_.next(header, payload);
      if (next == FrameReader::Next::incomplete) break;
      // Who breaks the protocol gets no more say.
      if (next == FrameReader::Next::malformed || !take(header, payload)) open_ = false;
      if (!open_) return;
    }
    if (i == kReadsPerRound) {
      more_ = true;
      return;
    }
    switch (reader_.fill(in_)) {
      case FrameReader::Got::bytes: heard_ = now_ms(); break;
      case FrameReader::Got::nothing: in_ready_ = false; break;
      case FrameReader::Got::closed: open_ = false; break;
    }
  }
}

bool StreamServer::take(const FrameHeader& header, const char* payload) {
  if (stage_ == Stage::hello) return header.type == FrameType::open && take_open(FrameReader::as<Open>(payload));
  if (header.type == FrameType::heartbeat) return true;
  if (header.type == FrameType::spec) return take_spec(header, payload);
  if (stage_ != Stage::serving) return false;
  if (header.type == FrameType::run) return take_run(header.execution, FrameReader::as<Run>(payload));
  return header.type != FrameType::open && take_for_execution(header, payload);
}

bool StreamServer::take_open(const Open& open) {
  if (open.magic != kStreamMagic || open.version != kStreamVersion) return false;
  if (open.lease_ms < kMinLeaseMs || open.lease_ms > kMaxLeaseMs) return false;
  if (open.output_window < kMinOutputWindow || open.output_window > kMaxWindow) return false;
  lease_ms_ = open.lease_ms;
  output_window_ = open.output_window;
  stage_ = Stage::spec;
  Run run;
  run.spec_bytes = open.spec_bytes;
  return spec_.begin(0, run);
}

bool StreamServer::take_spec(const FrameHeader& header, const char* bytes) {
  if (!spec_.add(header.execution, bytes, header.length)) return false;
  if (spec_.is_open()) return true;
  if (stage_ == Stage::spec) {
    confine_guest();
  } else {
    start();
  }
  return true;
}

bool StreamServer::take_run(std::uint32_t number, const Run& run) {
  if (number <= highest_ || spec_.is_open()) return false;
  highest_ = number;
  return spec_.begin(number, run);
}

bool StreamServer::take_for_execution(const FrameHeader& header, const char* payload) {
  const auto number = static_cast<std::int32_t>(header.execution);
  StreamExecution* const execution = of_number(header.execution);
  // One that was over before the keeper knew; none of the future.
  if (execution == nullptr) return header.execution <= highest_;
  switch (header.type) {
    case FrameType::data: return execution->take_input(payload, header.length);
    case FrameType::closed: execution->stream_closed(header.stream); return true;
    case FrameType::credit: return execution->allow_output(header.stream, FrameReader::as<Credit>(payload).bytes);
    case FrameType::resize: execution->resize(FrameReader::as<TerminalSize>(payload)); return true;
    case FrameType::signal: execution->tell(MessageType::signal, FrameReader::as<Signal>(payload).number); return true;
    case FrameType::kill:
      if (!execution->tell(MessageType::kill, 0)) supervisors_.end(number);
      return true;
    case FrameType::end: supervisors_.end(number); return true;
    default: return false;
  }
}

// From here on nothing that comes in can make the guest do what the specification does not allow.
void StreamServer::confine_guest() {
  int error = 0;
  const int fd = spec_.take(error);
  Spec spec;
  Outcome outcome = error != 0 ? failure(Step::read_spec, error) : read_spec(fd, spec);
  if (outcome.ok() && spec.inherited) outcome = failure(Step::read_spec, EPROTO);
  if (outcome.ok()) outcome = supervisors_.prepare();
  if (outcome.ok() && !spec.unconfined) outcome = confine(spec, confined_);
  if (outcome.ok()) {
    stage_ = Stage::serving;
    writer_.put(FrameType::confined, 0, Confined{confined_.landlock_abi, confined_.seccomp});
    return;
  }
  writer_.put(FrameType::failed, 0,
              Failed{static_cast<std::uint32_t>(outcome.step), outcome.error_number, outcome.detail});
  flush();
  failed_ = true;
  open_ = false;
}

// ---- commands ---------------------------------------------------------------------

void StreamServer::start() {
  const std::uint32_t number = spec_.execution();
  int error = 0;
  const int spec_fd = spec_.take(error);
  if (error != 0) return refuse(number, Step::read_spec, error);
  StreamExecution* const execution = free_place();
  int theirs[kRunDescriptors];
  error = execution == nullptr ? EAGAIN : execution->make(number, spec_.run(), output_window_, theirs);
  if (error != 0) {
    ::close(spec_fd);
    return refuse(number, spec_.run().terminal != 0 ? Step::terminal : Step::descriptors, error);
  }
  Step step = Step::descriptors;
  if (!send_spec_to(execution->control(), spec_fd) || !execution->watch(epoll_fd_)) {
    error = errno;
  } else {
    step = Step::fork;
    error = supervisors_.start(static_cast<std::int32_t>(number), theirs, kRunDescriptors, confined_);
  }
  ::close(spec_fd);
  for (const int fd : theirs) ::close(fd);
  if (error == 0) return;
  execution->clear(growth_);
  refuse(number, step, error);
}

// Nothing else follows for that number.
void StreamServer::refuse(std::uint32_t number, Step step, int error) {
  writer_.put(FrameType::over, number, Over{0, error, static_cast<std::uint32_t>(step)});
}

void StreamServer::over(std::int32_t number, int wait_status, int error) {
  if (StreamExecution* const execution = of_number(static_cast<std::uint32_t>(number)); execution != nullptr)
    execution->over(wait_status, error);
}

// Each begins in its turn: one that always has something to say does not silence the others.
void StreamServer::advance_all() {
  if (used_ == 0) return;
  turn_ = (turn_ + 1) % used_;
  for (std::size_t i = 0; i < used_; ++i) {
    StreamExecution& execution = executions_[(turn_ + i) % used_];
    if (execution.is_free()) continue;
    if (!execution.advance(writer_, growth_)) supervisors_.end(static_cast<std::int32_t>(execution.number()));
    if (execution.is_finished()) {
      execution.clear(growth_);
    } else if (execution.has_more()) {
      more_ = true;
    }
  }
}

void StreamServer::flush() {
  if (!out_ready_) return;
  switch (writer_.flush(out_)) {
    case FrameWriter::Flushed::all: break;
    case FrameWriter::Flushed::later: out_ready_ = false; break;
    case FrameWriter::Flushed::closed: open_ = false; break;
  }
}

StreamExecution* StreamServer::of_number(std::uint32_t number) {
  for (std::size_t i = 0; number != 0 && i < used_; ++i) {
    if (executions_[i].number() == number) return &executions_[i];
  }
  return nullptr;
}

StreamExecution* StreamServer::free_place() {
  for (std::size_t i = 0; i < Executions::kMost; ++i) {
    if (!executions_[i].is_free()) continue;
    if (i == used_) ++used_;
    return &executions_[i];
  }
  return nullptr;
}

}  // namespace exechost::guest
