#include "core/host/gateway_run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/unique_fd.hpp"
#include "core/execution/pipes.hpp"

namespace exechost::host {
namespace {

// The operation's end of an output pipe. Writing waits for whoever reads.
class Output {
 public:
  explicit Output(int pipe) : pipe_(::fcntl(pipe, F_DUPFD_CLOEXEC, 3)) {}
  bool is_open() const { return static_cast<bool>(pipe_); }
  // False when nobody reads any more.
  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(pipe_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

 private:
  UniqueFd pipe_;
};

// A broken pipe is an answer of write(2) here, never the death of the program that embeds us.
void block_broken_pipe_signal() {
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

// The whole of it, when it is known before the start; a stream is not.
std::optional<std::string> whole_input(const execution::StdinInput& input) {
  if (!input.any()) return std::string();
  if (input.bytes) return *input.bytes;
  return std::nullopt;
}

std::chrono::steady_clock::time_point time_point_of(std::int64_t deadline_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns));
}

}  // namespace

GatewayRun::GatewayRun(Reactor& reactor, keeper::WorkerPool& workers, GatewaySpec spec)
    : reactor_(reactor), workers_(workers), spec_(std::move(spec)), deadline_(reactor.context()) {}

void GatewayRun::start(std::function<void(ExecResult)> done) {
  done_ = std::move(done);
  self_ = shared_from_this();
  phases_.begin(Phase::run);
  auto streams = execution::CommandStreams::create(reactor_.context(), spec_.streams);
  if (!streams) {
    result_.failure = std::move(streams.error());
    return finish();
  }
  streams_ = std::move(*streams);
  const auto stdio = streams_->stdio();
  auto out = std::make_shared<Output>(stdio[1]);
  auto err = std::make_shared<Output>(stdio[2]);
  streams_->close_commands_ends();
  if (!out->is_open() || !err->is_open()) {
    result_.failure = execution::preparation_failure("pipe", "a descriptor could not be duplicated", EMFILE);
    return finish();
  }
  streams_->start_output([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->advance();
  });
  watch_deadline_and_cancel();

  auto work = [self = shared_from_this(), out = std::move(out), err = std::move(err)]() mutable {
    block_broken_pipe_signal();
    Outcome outcome{gateway::CommandEnd{}};
    const auto print = [&](const Output& output, std::string_view bytes) {
      if (outcome.reader_gone || output.write(bytes)) return;
      outcome.reader_gone = true;
      self->stopped_.request_stop();
    };
    gateway::CommandRequest request;
    request.argv = self->spec_.plan->argv;
    request.cwd = self->spec_.plan->cwd;
    request.standard_input = whole_input(self->spec_.streams.input);
    request.patience = {time_point_of(self->spec_.deadline_ns), self->stopped_.get_token()};
    auto opened = gateway::Gateway::open(self->spec_.policy);
    if (opened) {
      outcome.end = gateway::run_command(
          *opened, request,
          {[&](std::string_view bytes) { print(*out, bytes); }, [&](std::string_view bytes) { print(*err, bytes); }});
    } else {
      outcome.end = unexpected(opened.error());
    }
    // Closed here: what follows on the reactor must see the end of the streams.
    out.reset();
    err.reset();
    Reactor& reactor = self->reactor_;
    reactor.post([self = std::move(self), outcome = std::move(outcome)]() mutable { self->ended(std::move(outcome)); });
  };
  try {
    workers_.submit(std::move(work));
  } catch (const std::system_error& error) {  // no thread to be had
    reactor_.post([self = shared_from_this(), number = error.code().value()] {
      self->ended({unexpected(execution::preparation_failure("thread", "no thread can be started", number))});
    });
  }
}

void GatewayRun::watch_deadline_and_cancel() {
  if (spec_.deadline_ns != kNoDeadline) {
    deadline_.expires_at(time_point_of(spec_.deadline_ns));
    deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (self && !error) self->stop(Status::timed_out);
    });
  }
  on_cancel_.emplace(spec_.cancelled, [&reactor = reactor_, weak = weak_from_this()] {
    reactor.post([weak] {
      if (const auto self = weak.lock()) self->stop(Status::cancelled);
    });
  });
}

void GatewayRun::stop(Status status) {
  if (!done_ || stopped_as_) return;
  stopped_as_ = status;
  stopped_.request_stop();
  // A writer that waits for a reader wakes with a broken pipe.
  streams_->stop_reading();
  streams_->abandon_delivery();
  advance();
}

void GatewayRun::ended(Outcome outcome) {
  operation_over_ = true;
  phases_.begin(Phase::collect);
  if (!outcome.end) {
    result_.failure = std::move(outcome.end.error());
  } else {
    result_.started = Started::yes;
    result_.exit_code = outcome.end->exit_code;
    const bool in_time = outcome.end->status != gateway::CommandStatus::timed_out;
    result_.status = in_time ? Status::exited : Status::timed_out;
    if (outcome.reader_gone) {
      // What would have happened to a process.
      result_.status = Status::signaled;
      result_.signal_number = SIGPIPE;
    }
  }
  if (stopped_as_ && !result_.failure) result_.status = *stopped_as_;
  if (result_.status == Status::timed_out || result_.status == Status::cancelled) result_.stopped_phase = Phase::run;
  streams_->drain();
  advance();
}

void GatewayRun::advance() {
  if (!done_ || !operation_over_ || streams_->reading() || streams_->delivering()) return;
  finish();
}

void GatewayRun::finish() {
  deadline_.cancel();
  on_cancel_.reset();
  if (streams_) streams_->collect(result_);
  phases_.end();
  result_.phase_times = phases_.times();
  // Not from inside a stream's own handler, which this would destroy.
  reactor_.post([self = std::move(self_), done = std::exchange(done_, nullptr)] { done(std::move(self->result_)); });
}

}  // namespace exechost::host
