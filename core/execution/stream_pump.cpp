#include "core/execution/stream_pump.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace exechost::execution {
namespace {

// How many buffers are read before others get their turn.
constexpr int kBuffersPerTurn = 4;

}  // namespace

StreamPump::StreamPump(boost::asio::io_context& context, UniqueFd source, PumpOptions options)
    : source_(context, source.release()), options_(std::move(options)), capture_(options_.cap_bytes) {}

void StreamPump::start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  if (options_.sink) {
    sink_ = std::make_shared<Sink>(options_.sink, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->on_sink_progress();
    });
  }
  wait();
}

void StreamPump::wait() {
  source_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && self->reading_) self->on_readable();
                     });
}

bool StreamPump::must_pause() const {
  if (!sink_ || sink_->closed()) return false;
  return draining_ ? sink_->pending_bytes() >= kDrainBytes : !sink_->idle();
}

void StreamPump::on_readable() {
  buffer_.resize(kBufferBytes);
  for (int turn = 0; turn < kBuffersPerTurn; ++turn) {
    if (must_pause()) {
      paused_ = true;
      return;
    }
    const ssize_t count = ::read(source_.native_handle(), buffer_.data(), buffer_.size());
    if (count > 0) {
      consume(std::string_view(buffer_.data(), static_cast<std::size_t>(count)));
    } else if (count < 0 && errno == EAGAIN) {
      break;
    } else if (count == 0 || errno != EINTR) {
      // A terminal's master says EIO when its last slave was closed.
      end_reading();
      return on_change_();
    }
    if (!reading_) return;  // a callback stopped us
  }
  wait();
}

void StreamPump::on_sink_progress() {
  if (sink_->error_number() != 0 && !sink_problem_told_) {
    sink_problem_told_ = true;
    note_undelivered(
        fmt::format("{} could not be passed on completely: {}", name(), std::strerror(sink_->error_number())));
  }
  if (options_.ends_with_reader && sink_->reader_gone() && reading_) end_reading();
  if (paused_ && reading_ && !must_pause()) {
    paused_ = false;
    wait();
  }
  on_change_();
}

void StreamPump::consume(std::string_view bytes) {
  spill(bytes);
  capture_.append(bytes);
  if (options_.on_output) {
    try {
      options_.on_output(options_.stream, bytes);
    } catch (...) {
      // The contract forbids it; the reactor serves other commands too and must live.
      options_.on_output = nullptr;
      warnings_.push_back(fmt::format("on_output threw an exception for {} and was not called again", name()));
    }
  }
  if (!sink_) return;
  sink_->offer(bytes);
  if (sink_->closed()) on_sink_progress();
}

void StreamPump::spill(std::string_view bytes) {
  if (options_.spill_folder.empty() || spill_failed_) return;
  Result<void> written;
  if (spill_) {
    written = spill_->append(bytes);
  } else if (capture_.would_start_dropping(bytes.size())) {
    auto file = SpillFile::create(options_.spill_folder, name());
    if (!file) {
      written = unexpected(file.error());
    } else {
      spill_.emplace(std::move(*file));
      for (const std::string_view piece : capture_.everything()) {
        if (written) written = spill_->append(piece);
      }
      if (written) written = spill_->append(bytes);
    }
  }
  if (written) return;
  spill_failed_ = true;
  spill_.reset();
  warnings_.push_back(fmt::format("{} is not kept in full: {}", name(), describe(written.error())));
}

void StreamPump::note_undelivered(std::string why) {
  warnings_.push_back(why);
  undelivered_ = std::move(why);
}

void StreamPump::end_reading() {
  reading_ = false;
  paused_ = false;
  boost::system::error_code ignored;
  source_.close(ignored);
  buffer_ = {};
}

void StreamPump::drain() {
  draining_ = true;
  if (paused_ && reading_ && !must_pause()) {
    paused_ = false;
    wait();
  }
}

bool StreamPump::stop_reading() {
  if (!reading_) return false;
  end_reading();
  return true;
}

void StreamPump::abandon_delivery() {
  if (!sink_ || sink_->closed()) return;
  if (const std::size_t lost = sink_->abandon(); lost > 0) {
    note_undelivered(
        fmt::format("{} bytes of {} were not taken by their reader in time and are not passed on", lost, name()));
  }
  if (paused_ && reading_) {
    paused_ = false;
    wait();
  }
}

CapturedStream StreamPump::take() {
  CapturedStream stream = capture_.take();
  stream.undelivered = undelivered_;
  if (spill_) {
    stream.spill_path = spill_->path();
    spill_->keep();
  }
  return stream;
}

}  // namespace exechost::execution
