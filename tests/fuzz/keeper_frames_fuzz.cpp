// What a keeper says over the byte stream, as the guest takes it: frames, pieces of specifications, and the streams of
// executions, of which nothing is started.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "guest/serve/frame_reader.hpp"
#include "guest/serve/pending_spec.hpp"
#include "guest/serve/stream_execution.hpp"

namespace {

using namespace exechost::guest;  // NOLINT(google-build-using-namespace)

// What the server does with them, without its processes.
class Guest {
 public:
  Guest() = default;
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest() {
    int ignored = 0;
    const int fd = spec_.take(ignored);
    if (fd >= 0) close(fd);
    for (auto& execution : executions_) execution.clear(growth_);
    if (growth_.left > kWindowGrowth) std::abort();
    close(nowhere_);
  }

  bool take(const FrameHeader& header, const char* payload) {
    if (header.type == FrameType::run) {
      const auto run = FrameReader::as<Run>(payload);
      return header.execution > highest_ && !spec_.is_open() && spec_.begin(highest_ = header.execution, run);
    }
    if (header.type == FrameType::spec) {
      if (!spec_.add(header.execution, payload, header.length)) return false;
      if (!spec_.is_open()) start();
      return true;
    }
    for (auto& execution : executions_) {
      if (header.execution == 0 || execution.number() != header.execution) continue;
      if (!take_for(execution, header, payload)) return false;
      execution.advance(writer_, growth_);
      if (writer_.flush(nowhere_) != FrameWriter::Flushed::all) std::abort();
      if (execution.is_finished()) execution.clear(growth_);
    }
    return true;
  }

 private:
  static bool take_for(StreamExecution& execution, const FrameHeader& header, const char* payload) {
    switch (header.type) {
      case FrameType::data: return execution.take_input(payload, header.length);
      case FrameType::closed: execution.stream_closed(header.stream); return true;
      case FrameType::credit: return execution.allow_output(header.stream, FrameReader::as<Credit>(payload).bytes);
      case FrameType::resize: execution.resize(FrameReader::as<TerminalSize>(payload)); return true;
      case FrameType::signal: execution.tell(MessageType::signal, FrameReader::as<Signal>(payload).number); return true;
      case FrameType::kill: execution.over(9, 0); return true;
      default: return true;
    }
  }

  void start() {
    int error = 0;
    const int fd = spec_.take(error);
    if (fd >= 0) close(fd);
    for (auto& execution : executions_) {
      if (!execution.is_free()) continue;
      int theirs[kRunDescriptors];
      if (execution.make(spec_.execution(), spec_.run(), kFirstWindow, theirs) != 0) return;
      for (const int end : theirs) close(end);
      return;
    }
  }

  const int nowhere_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::uint32_t highest_ = 0;
  PendingSpec spec_;
  WindowGrowth growth_;
  FrameWriter writer_;
  std::array<StreamExecution, 3> executions_;
};

}  // namespace

// The guest has all signals blocked.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return std::signal(SIGPIPE, SIG_IGN) == SIG_ERR ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reader = std::make_unique<FrameReader>(Sender::keeper);
  const auto guest = std::make_unique<Guest>();
  while (size != 0) {
    const std::size_t taken = reader->put(reinterpret_cast<const char*>(data), size);
    data += taken;
    size -= taken;
    FrameHeader header;
    const char* payload = nullptr;
    for (;;) {
      const auto next = reader->next(header, payload);
      if (next == FrameReader::Next::malformed) return 0;
      if (next == FrameReader::Next::incomplete) break;
      if (!is_valid(header, Sender::keeper) || header.length > kMaxPayload) std::abort();
      if (!guest->take(header, payload)) return 0;
    }
    if (taken == 0) std::abort();  // whole frames always make room
  }
  return 0;
}
