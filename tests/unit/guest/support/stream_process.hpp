// Plays the keeper of a guest that serves over byte streams. Every wait is for an event and ends with a test failure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "guest/protocol.hpp"
#include "guest/serve/frame_reader.hpp"
#include "guest/spec_writer.hpp"
#include "tests/unit/guest/support/places.hpp"

namespace exechost::guest::test {

struct Frame {
  FrameHeader header;
  std::string payload;

  template <class T>
  T as() const {
    return payload.size() == sizeof(T) ? FrameReader::as<T>(payload.data()) : T{};
  }
};

std::string frame(FrameType type, std::uint32_t execution, std::string_view payload = {},
                  StreamId stream = StreamId::input);
template <class T>
std::string frame_with(FrameType type, std::uint32_t execution, const T& value, StreamId stream = StreamId::input) {
  return frame(type, execution, {reinterpret_cast<const char*>(&value), sizeof value}, stream);
}
std::string bytes_of(const SpecWriter& spec);

struct StreamOptions {
  Place place;
  std::uint32_t lease_ms = 60'000;
  std::uint32_t output_window = kFirstWindow;
  std::string program;      // another guest than this machine's
  std::string interpreter;  // that runs it
};

class StreamProcess {
 public:
  StreamProcess(const StagedPrograms& programs, StreamOptions options);
  ~StreamProcess();
  StreamProcess(const StreamProcess&) = delete;
  StreamProcess& operator=(const StreamProcess&) = delete;

  // Its hello, then `open` and the specification, then its answer.
  Frame hello();
  Frame open(const SpecWriter& spec);
  // A command with this specification, which inherits; its number.
  std::uint32_t run(SpecWriter spec, bool terminal = false, TerminalSize size = {});
  void send(std::string_view bytes);
  void send(FrameType type, std::uint32_t execution, std::string_view payload = {}, StreamId stream = StreamId::input) {
    send(frame(type, execution, payload, stream));
  }

  // The next frame but heartbeats; its bytes are remembered, and allowed again where `gives_credit`.
  // Type `heartbeat`: nothing came any more.
  Frame next();
  bool gives_credit = true;
  // One read: frames that came with it are remembered. False: nothing comes any more.
  bool next_or_heartbeat();
  // Reads on until then; everything else is remembered.
  bool wait_for(std::uint32_t execution, FrameType type);
  bool wait_for_output(std::uint32_t execution, std::string_view text);
  bool wait_finished(std::uint32_t execution);  // over, and both streams closed

  const std::string& out(std::uint32_t execution) { return outputs_[execution].bytes[0]; }
  const std::string& err(std::uint32_t execution) { return outputs_[execution].bytes[1]; }
  // The first frame of that type; null: there was none.
  const Frame* find(std::uint32_t execution, FrameType type) const;
  int exit_code(std::uint32_t execution) const;  // -1: it did not exit

  // No more input for the guest: it ends everything and then itself. As waitpid(2).
  int close_and_wait();
  // Until it has ended by itself.
  int wait_end();
  bool closed();  // it says nothing any more and has closed its end
  pid_t launcher() const { return launcher_; }

 private:
  struct Output {
    std::string bytes[2];
    bool closed[2] = {false, false};
  };
  bool read_some();
  bool take(Frame& frame);  // false: no whole frame is there

  const StreamOptions options_;
  UniqueFd to_;
  UniqueFd from_;
  std::unique_ptr<FrameReader> reader_ = std::make_unique<FrameReader>(Sender::guest);
  std::vector<Frame> frames_;  // but data
  std::map<std::uint32_t, Output> outputs_;
  std::uint32_t next_ = 1;
  pid_t launcher_ = -1;
};

}  // namespace exechost::guest::test
