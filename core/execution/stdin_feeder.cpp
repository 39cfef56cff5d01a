#include "core/execution/stdin_feeder.hpp"

#include <boost/asio/post.hpp>
#include <cerrno>
#include <span>
#include <utility>

namespace exechost::execution {
namespace {

constexpr std::size_t kChunk = std::size_t{64} * 1024;
// How many chunks are moved before others get their turn.
constexpr int kChunksPerTurn = 4;
constexpr char kEndOfFile = 0x04;  // VEOF of a new terminal

}  // namespace

StdinFeeder::StdinFeeder(boost::asio::io_context& context, UniqueFd target, bool terminal, StdinInput input)
    : context_(context), target_(context, target.release()), terminal_(terminal), input_(std::move(input)) {}

StdinFeeder::~StdinFeeder() { stop(); }

void StdinFeeder::start() {
  started_ = true;
  if (input_.buffer) {
    input_.buffer->on_written([weak = weak_from_this(), &context = context_] {
      boost::asio::post(context, [weak] {
        const auto self = weak.lock();
        if (self && std::exchange(self->waiting_for_source_, false)) self->pump();
      });
    });
  }
  pump();
}

void StdinFeeder::stop() {
  if (std::exchange(stopped_, true)) return;
  if (started_ && input_.buffer) {
    input_.buffer->on_written({});
    input_.buffer->reader_gone();
  }
  if (started_ && input_.descriptor) input_.descriptor->cancel();
  boost::system::error_code ignored;
  target_.close(ignored);
  pending_ = {};
}

StdinFeeder::Source StdinFeeder::fill() {
  offset_ = 0;
  pending_.clear();
  if (ending_) return Source::end;
  if (input_.bytes) {
    pending_ = input_.bytes->substr(bytes_taken_, kChunk);
    bytes_taken_ += pending_.size();
    return pending_.empty() ? Source::end : Source::bytes;
  }
  if (input_.descriptor) return fill_from_descriptor();
  if (!input_.buffer) return Source::end;
  // Set before looking: what is written after the look then finds it set.
  waiting_for_source_ = true;
  switch (input_.buffer->take(pending_, kChunk)) {
    case StdinBuffer::Taken::nothing_yet: return Source::wait;
    case StdinBuffer::Taken::end: waiting_for_source_ = false; return Source::end;
    case StdinBuffer::Taken::bytes: waiting_for_source_ = false; return Source::bytes;
  }
  return Source::end;
}

StdinFeeder::Source StdinFeeder::fill_from_descriptor() {
  pending_.resize(kChunk);
  ssize_t count = 0;
  do {
    count = input_.descriptor->read_some(std::span(pending_.data(), pending_.size()));
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    pending_.resize(static_cast<std::size_t>(count));
    return Source::bytes;
  }
  pending_.clear();
  return count < 0 && errno == EAGAIN ? Source::wait : Source::end;
}

void StdinFeeder::pump() {
  for (int turn = 0; turn < kChunksPerTurn;) {
    if (stopped_) return;
    if (offset_ == pending_.size()) {
      const Source source = fill();
      if (source == Source::wait) return wait_for_source();
      if (source == Source::end) return end_of_input();
      ++turn;
    }
    const ssize_t count = ::write(target_.native_handle(), pending_.data() + offset_, pending_.size() - offset_);
    if (count > 0) {
      offset_ += static_cast<std::size_t>(count);
      last_byte_ = pending_[offset_ - 1];
    } else if (count < 0 && errno == EAGAIN) {
      return wait_for_target();
    } else if (count < 0 && errno != EINTR) {
      return stop();  // the command no longer reads
    }
  }
  boost::asio::post(context_, [self = shared_from_this()] { self->pump(); });
}

void StdinFeeder::wait_for_source() {
  if (!input_.descriptor) return;  // the buffer's writer tells
  input_.descriptor->async_ready([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pump();
  });
}

void StdinFeeder::wait_for_target() {
  target_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                     [weak = weak_from_this()](const boost::system::error_code& error) {
                       const auto self = weak.lock();
                       if (self && !error) self->pump();
                     });
}

void StdinFeeder::end_of_input() {
  if (!terminal_ || ending_) return stop();
  // A terminal has no end to close. In the middle of a line the first character only delivers
  // the line.
  ending_ = true;
  pending_.assign(last_byte_ == '\n' ? 1 : 2, kEndOfFile);
  offset_ = 0;
  pump();
}

}  // namespace exechost::execution
