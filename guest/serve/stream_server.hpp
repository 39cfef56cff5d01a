// The loop of a guest that serves over byte streams: frames in, frames out, commands, and their ends.
#pragma once

#include "guest/serve/frame_reader.hpp"
#include "guest/serve/pending_spec.hpp"
#include "guest/serve/stream_execution.hpp"
#include "guest/serve/supervisors.hpp"
#include "guest/spec_reader.hpp"

namespace exechost::guest {

class StreamServer final : private OverHandler {
 public:
  StreamServer(int in, int out, int signal_fd) : in_(in), out_(out), signal_fd_(signal_fd) {}

  // Returns the guest's exit status (supervisor.hpp), when nothing of its commands is left.
  int run();

 private:
  enum class Stage { hello, spec, serving };
  static constexpr std::uint32_t kSignal = 0xffffff00;  // keys of what is no execution's
  static constexpr std::uint32_t kIn = 0xffffff01;
  static constexpr std::uint32_t kOut = 0xffffff02;

  bool watch(int fd, std::uint32_t events, std::uint32_t key) const;
  void wait();
  int timeout() const;
  void check_lease();
  void read_frames();
  bool take(const FrameHeader& header, const char* payload);
  bool take_open(const Open& open);
  bool take_spec(const FrameHeader& header, const char* bytes);
  bool take_run(std::uint32_t number, const Run& run);
  bool take_for_execution(const FrameHeader& header, const char* payload);
  void confine_guest();
  void start();
  void refuse(std::uint32_t number, Step step, int error);
  void advance_all();
  void flush();
  StreamExecution* of_number(std::uint32_t number);
  StreamExecution* free_place();
  void over(std::int32_t number, int wait_status, int error) override;

  const int in_;
  const int out_;
  const int signal_fd_;
  int epoll_fd_ = -1;
  Stage stage_ = Stage::hello;
  bool open_ = true;
  bool failed_ = false;  // before there was any command
  bool in_ready_ = true;
  bool out_ready_ = true;
  bool more_ = false;       // something was put off to the next round
  long lease_ms_ = 60'000;  // until the keeper has said which
  long heard_ = 0;
  long beat_ = 0;
  std::uint32_t output_window_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t used_ = 0;  // no place from here on was ever used
  std::size_t turn_ = 0;
  Message confined_;
  PendingSpec spec_;
  WindowGrowth growth_;
  Supervisors supervisors_;
  FrameReader reader_{Sender::keeper};
  FrameWriter writer_;
  StreamExecution executions_[Executions::kMost];
};

}  // namespace exechost::guest
