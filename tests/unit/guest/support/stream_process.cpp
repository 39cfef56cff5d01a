#include "tests/unit/guest/support/stream_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "tests/unit/guest/support/serve_process.hpp"

namespace exechost::guest::test {
namespace {

constexpr int kPatienceMs = static_cast<int>(std::chrono::milliseconds(kPatience).count());

void make_pipe(UniqueFd& read, UniqueFd& write) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  read.reset(ends[0]);
  write.reset(ends[1]);
}

}  // namespace

std::string frame(FrameType type, std::uint32_t execution, std::string_view payload, StreamId stream) {
  const FrameHeader header{static_cast<std::uint32_t>(payload.size()), type, stream, execution};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header).append(payload);
}

std::string bytes_of(const SpecWriter& spec) {
  const auto sealed = spec.seal();
  if (!sealed) return {};
  std::string bytes(kMaxPayload * 64, '\0');
  const ssize_t size = ::pread(sealed->get(), bytes.data(), bytes.size(), 0);
  bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return bytes;
}

StreamProcess::StreamProcess(const StagedPrograms& programs, StreamOptions options) : options_(std::move(options)) {
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));  // the guest may have ended
  UniqueFd in, out;
  make_pipe(in, to_);
  make_pipe(from_, out);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int stdio[3] = {in.get(), out.get(), STDERR_FILENO};
  Launch launch{programs, options_.place, "serve", null.get(), stdio};
  launch.stream = true;
  launch.program = options_.program;
  launch.interpreter = options_.interpreter;
  launcher_ = launch_guest(launch);
}

StreamProcess::~StreamProcess() {
  if (launcher_ > 0) close_and_wait();
}

Frame StreamProcess::hello() { return next(); }

Frame StreamProcess::open(const SpecWriter& spec) {
  const std::string bytes = bytes_of(spec);
  Open open;
  open.lease_ms = options_.lease_ms;
  open.output_window = options_.output_window;
  open.spec_bytes = static_cast<std::uint32_t>(bytes.size());
  send(frame_with(FrameType::open, 0, open));
  send(FrameType::spec, 0, bytes);
  return next();
}

std::uint32_t StreamProcess::run(SpecWriter spec, bool terminal, TerminalSize size) {
  const std::uint32_t number = next_++;
  spec.set_inherited(true);
  const std::string bytes = bytes_of(spec);
  Run run;
  run.spec_bytes = static_cast<std::uint32_t>(bytes.size());
  run.terminal = terminal ? 1 : 0;
  run.size = size;
  send(frame_with(FrameType::run, number, run));
  for (std::size_t at = 0; at < bytes.size(); at += kMaxPayload)
    send(FrameType::spec, number, std::string_view(bytes).substr(at, kMaxPayload));
  return number;
}

void StreamProcess::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // it has ended: what is read next shows that
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool StreamProcess::read_some() {
  pollfd ready{from_.get(), POLLIN, 0};
  return ::poll(&ready, 1, kPatienceMs) == 1 && reader_->fill(from_.get()) == FrameReader::Got::bytes;
}

bool StreamProcess::take(Frame& frame) {
  const char* payload = nullptr;
  const FrameReader::Next got = reader_->next(frame.header, payload);
  if (got == FrameReader::Next::malformed) ADD_FAILURE() << "the guest sent a malformed frame";
  if (got != FrameReader::Next::frame) return false;
  frame.payload.assign(payload, frame.header.length);
  if (frame.header.type == FrameType::heartbeat) return true;
  Output& output = outputs_[frame.header.execution];
  const std::size_t index = frame.header.stream == StreamId::error ? 1 : 0;
  if (frame.header.type == FrameType::closed && frame.header.stream != StreamId::input) output.closed[index] = true;
  if (frame.header.type != FrameType::data) {
    frames_.push_back(frame);
    return true;
  }
  output.bytes[index] += frame.payload;
  if (gives_credit && launcher_ > 0)
    send(frame_with(FrameType::credit, frame.header.execution, Credit{frame.header.length}, frame.header.stream));
  return true;
}

Frame StreamProcess::next() {
  for (;;) {
    Frame frame;
    if (take(frame)) {
      if (frame.header.type != FrameType::heartbeat) return frame;
      continue;
    }
    frame.header.type = FrameType::heartbeat;
    if (!read_some()) return frame;
  }
}

bool StreamProcess::next_or_heartbeat() {
  if (!read_some()) return false;
  Frame frame;
  while (take(frame)) {
  }
  return true;
}

const Frame* StreamProcess::find(std::uint32_t execution, FrameType type) const {
  const auto found = std::find_if(frames_.begin(), frames_.end(), [&](const Frame& frame) {
    return frame.header.execution == execution && frame.header.type == type;
  });
  return found == frames_.end() ? nullptr : &*found;
}

bool StreamProcess::wait_for(std::uint32_t execution, FrameType type) {
  while (find(execution, type) == nullptr) {
    if (next().header.type != FrameType::heartbeat) continue;
    ADD_FAILURE() << "no frame of type " << static_cast<int>(type) << " for " << execution;
    return false;
  }
  return true;
}

bool StreamProcess::wait_for_output(std::uint32_t execution, std::string_view text) {
  while (out(execution).find(text) == std::string::npos) {
    if (next().header.type != FrameType::heartbeat) continue;
    ADD_FAILURE() << "it did not write: " << text << "; but " << out(execution);
    return false;
  }
  return true;
}

bool StreamProcess::wait_finished(std::uint32_t execution) {
  if (!wait_for(execution, FrameType::over)) return false;
  while (!outputs_[execution].closed[0] || !outputs_[execution].closed[1]) {
    if (next().header.type != FrameType::heartbeat) continue;
    ADD_FAILURE() << "the streams of " << execution << " were not closed";
    return false;
  }
  return true;
}

int StreamProcess::exit_code(std::uint32_t execution) const {
  const Frame* const exited = find(execution, FrameType::exited);
  if (exited == nullptr) return -1;
  const int status = exited->as<Exited>().wait_status;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool StreamProcess::closed() {
  while (next().header.type != FrameType::heartbeat) {
  }
  pollfd ready{from_.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLHUP) != 0;
}

int StreamProcess::wait_end() {
  int status = -1;
  if (::waitpid(std::exchange(launcher_, -1), &status, 0) < 0) ADD_FAILURE() << "waitpid: errno " << errno;
  return status;
}

int StreamProcess::close_and_wait() {
  to_.reset();
  return wait_end();
}

}  // namespace exechost::guest::test
