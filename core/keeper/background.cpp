#include "core/keeper/background.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/utf8.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

constexpr std::size_t kLogBytes = 4UL * 1024 * 1024;  // of each stream
constexpr std::size_t kAnswerBytes = 256UL * 1024;
constexpr std::size_t kReadBytes = 64UL * 1024;
constexpr int kReadsPerRound = 16;  // so that one that only writes does not starve the others
constexpr auto kDrain = std::chrono::milliseconds(250);
constexpr std::size_t kShownBytes = 200;
constexpr std::size_t kMostWatchers = 64;

bool make_pipe(UniqueFd& read, UniqueFd& write) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  read.reset(ends[0]);
  write.reset(ends[1]);
  return true;
}

std::string shown(const SpawnRequest& request) {
  std::string text;
  for (const std::string& argument : request.argv) {
    if (!text.empty()) text += ' ';
    text += argument;
  }
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "...";
  return to_valid_utf8(text);
}

nlohmann::json failure_json(const Failure& failure) {
  return {{"kind", to_string(failure.kind)},
          {"phase", to_string(failure.phase)},
          {"message", to_valid_utf8(failure.message)},
          {"hint", to_valid_utf8(failure.hint)},
          {"backend", failure.backend},
          {"errno", failure.error_number}};
}

const char* text_of(Started started) {
  switch (started) {
    case Started::no: return "no";
    case Started::yes: return "yes";
    case Started::unknown: break;
  }
  return "unknown";
}

}  // namespace

BackgroundCommand::BackgroundCommand(std::shared_ptr<EventLoop> loop, const SpawnRequest& request)
    : loop_(std::move(loop)),
      choice_(*request.background),
      command_(shown(request)),
      out_log_(kLogBytes),
      err_log_(kLogBytes) {}

BackgroundCommand::~BackgroundCommand() {
  for (const EventLoop::Timer timer : {deadline_, grace_, drain_}) loop_->cancel(timer);
  for (const Watcher& watcher : watchers_) loop_->cancel(watcher.timer);
  if (pending_input_) loop_->cancel(pending_input_->timer);
  if (input_) loop_->unwatch(input_.get());
  if (out_) loop_->unwatch(out_.get());
  if (err_) loop_->unwatch(err_.get());
}

std::size_t BackgroundCommand::kept_bytes() const {
  return static_cast<std::size_t>(out_log_.end() - out_log_.begin() + err_log_.end() - err_log_.begin());
}

Result<std::vector<UniqueFd>> BackgroundCommand::open_streams() {
  std::vector<UniqueFd> ends(3);
  const bool made = (choice_.input ? make_pipe(ends[0], input_)
                                   : (ends[0].reset(::open("/dev/null", O_RDONLY | O_CLOEXEC)), bool(ends[0]))) &&
                    make_pipe(out_, ends[1]) && make_pipe(err_, ends[2]);
  if (!made) {
    const int error = errno;
    return unexpected(make_failure(FailureKind::spawn_failed, Phase::spawn,
                                   fmt::format("no pipes for the command's streams: {}", std::strerror(error)),
                                   "descriptors", error, "raise the limit of open files (ulimit -n)"));
  }
  for (const int fd : {out_.get(), err_.get(), input_.get()}) {
    if (fd >= 0) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return ends;
}

void BackgroundCommand::runs_as(const std::shared_ptr<Execution>& execution) {
  execution_ = execution;
  const auto watch = [this](UniqueFd& stream, OutputLog& log) {
    loop_->watch(stream.get(), POLLIN, [weak = weak_from_this(), &stream, &log](short) {
      if (const auto self = weak.lock()) self->readable(stream, log);
    });
  };
  watch(out_, out_log_);
  watch(err_, err_log_);
  if (choice_.run_until_ns != kNoDeadline) {
    deadline_ = loop_->at(choice_.run_until_ns, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->time_is_up();
    });
  }
}

void BackgroundCommand::time_is_up() {
  deadline_ = 0;
  if (over_) return;
  timed_out_ = true;
  signal(SIGTERM);
  grace_ = loop_->at(deadline_after(choice_.kill_grace), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->grace_ = 0;
    self->signal(SIGKILL);
  });
}

void BackgroundCommand::readable(UniqueFd& stream, OutputLog& log) {
  std::array<char, kReadBytes> buffer{};
  for (int i = 0; i < kReadsPerRound; ++i) {
    const ssize_t got = ::read(stream.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      loop_->unwatch(stream.get());
      stream.reset();
      break;
    }
    log.append({buffer.data(), static_cast<std::size_t>(got)});
  }
  tell_watchers();
  finish_when_read();
}

void BackgroundCommand::on_event(const ExecutionEvent& event) {
  switch (event.kind) {
    case ExecutionEvent::Kind::confined: return;
    case ExecutionEvent::Kind::started: running_ = true; break;
    case ExecutionEvent::Kind::exited: exited_ = event; return;
    case ExecutionEvent::Kind::failed: failed_ = event; [[fallthrough]];
    case ExecutionEvent::Kind::gone:
      over_ = true;
      for (EventLoop::Timer* const timer : {&deadline_, &grace_}) loop_->cancel(std::exchange(*timer, 0));
      close_input();
      // Whoever has the streams still is none of its processes.
      drain_ = loop_->at(deadline_after(kDrain), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->drain_ = 0;
        for (UniqueFd* const stream : {&self->out_, &self->err_}) {
          if (*stream) self->loop_->unwatch(stream->get());
          stream->reset();
        }
        self->finish_when_read();
      });
      finish_when_read();
      return;
  }
  tell_watchers();
}

void BackgroundCommand::finish_when_read() {
  if (!over_ || out_ || err_ || ended_) return;
  ended_ = true;
  end_time_ = std::chrono::steady_clock::now();
  loop_->cancel(std::exchange(drain_, 0));
  tell_watchers();
}

nlohmann::json BackgroundCommand::describe() const {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  nlohmann::json status = nullptr;
  nlohmann::json exit_code = nullptr;
  nlohmann::json number = nullptr;
  if (ended_) {
    const int wait_status = exited_ ? exited_->wait_status : 0;
    if (timed_out_) {
      status = "timed_out";
    } else if (failed_ || !exited_) {
      status = "failed";
    } else if (WIFSIGNALED(wait_status)) {
      status = "signaled";
    } else {
      status = "exited";
    }
    if (exited_ && WIFEXITED(wait_status)) exit_code = WEXITSTATUS(wait_status);
    if (exited_ && WIFSIGNALED(wait_status)) number = WTERMSIG(wait_status);
  }
  const Started started = running_ || exited_ ? Started::yes : failed_ ? failed_->was_started : Started::unknown;
  const auto until = ended_ ? end_time_ : std::chrono::steady_clock::now();
  return {{"id", choice_.id},
          {"command", command_},
          {"state", ended_     ? "ended"
                    : running_ ? "running"
                               : "starting"},
          {"status", std::move(status)},
          {"exit_code", std::move(exit_code)},
          {"signal", std::move(number)},
          {"started", text_of(started)},
          {"failure", failed_ ? failure_json(failed_->failure) : nlohmann::json(nullptr)},
          {"started_unix_ms", duration_cast<milliseconds>(started_at_.time_since_epoch()).count()},
          {"duration_ms", duration_cast<milliseconds>(until - began_).count()},
          {"stdout", {{"begin", out_log_.begin()}, {"end", out_log_.end()}}},
          {"stderr", {{"begin", err_log_.begin()}, {"end", err_log_.end()}}},
          {"input", input_ ? "open" : "closed"}};
}

nlohmann::json BackgroundCommand::read(int stream, std::uint64_t offset) const {
  const OutputLog& log = stream == 2 ? err_log_ : out_log_;
  const std::string data = log.read(offset, kAnswerBytes);
  return {{"offset", std::min(std::max(offset, log.begin()), log.end())},
          {"data", nlohmann::json::binary({data.begin(), data.end()})},
          {"end", log.end()},
          {"ended", ended_}};
}

Reply BackgroundCommand::description() const {
  Reply reply;
  reply.status = ReplyStatus::ok;
  reply.body = describe();
  return reply;
}

void BackgroundCommand::await(std::uint64_t out_seen, std::uint64_t err_seen, std::int64_t deadline_ns, Answer answer) {
  if (ended_ || out_log_.end() > out_seen || err_log_.end() > err_seen || watchers_.size() >= kMostWatchers) {
    return answer(description());
  }
  watchers_.push_back({out_seen, err_seen, 0, std::move(answer)});
  const auto watcher = std::prev(watchers_.end());
  if (deadline_ns == kNoDeadline) return;
  watcher->timer = loop_->at(deadline_ns, [weak = weak_from_this(), watcher] {
    const auto self = weak.lock();
    if (!self) return;
    const Answer late = std::move(watcher->answer);
    self->watchers_.erase(watcher);
    late(self->description());
  });
}

void BackgroundCommand::tell_watchers() {
  for (auto watcher = watchers_.begin(); watcher != watchers_.end();) {
    if (!ended_ && out_log_.end() <= watcher->out_seen && err_log_.end() <= watcher->err_seen) {
      ++watcher;
      continue;
    }
    loop_->cancel(watcher->timer);
    const Answer answer = std::move(watcher->answer);
    watcher = watchers_.erase(watcher);
    answer(description());
  }
}

void BackgroundCommand::signal(int number) {
  if (const auto execution = execution_.lock()) execution->signal(number);
}

void BackgroundCommand::write_input(std::string data, std::int64_t deadline_ns, Answer answer) {
  if (pending_input_) {
    Reply busy;
    busy.failure = make_failure(FailureKind::unavailable, Phase::run, "somebody else is writing to the command's input",
                                "input", 0, "try again when that is done");
    return answer(std::move(busy));
  }
  pending_input_ = PendingInput{std::move(data), 0, std::move(answer)};
  if (deadline_ns != kNoDeadline) {
    pending_input_->timer = loop_->at(deadline_ns, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->try_input(true);
    });
  }
  try_input(false);
}

void BackgroundCommand::try_input(bool last) {
  if (!pending_input_) return;
  ssize_t written = -1;
  if (input_) {
    do {
      written = ::write(input_.get(), pending_input_->data.data(), pending_input_->data.size());
    } while (written < 0 && errno == EINTR);
    const bool full = written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (full && !last) {
      loop_->watch(input_.get(), POLLOUT, [weak = weak_from_this()](short) {
        if (const auto self = weak.lock()) self->try_input(false);
      });
      return;
    }
    if (full) written = 0;
  }
  Reply reply;
  if (written >= 0) {
    reply.status = ReplyStatus::ok;
    reply.body = {{"taken", written}};
    return answer_input(std::move(reply));
  }
  close_input();
}

void BackgroundCommand::answer_input(Reply reply) {
  if (!pending_input_) return;
  if (input_) loop_->unwatch(input_.get());
  loop_->cancel(pending_input_->timer);
  const Answer answer = std::move(pending_input_->answer);
  pending_input_.reset();
  answer(std::move(reply));
}

// Whoever waits for room hears of it.
void BackgroundCommand::close_input() {
  Reply closed;
  closed.failure = make_failure(FailureKind::invalid_request, Phase::run, "the command's input is closed", "input", 0,
                                "`exechost start --stdin` keeps it open");
  answer_input(std::move(closed));
  input_.reset();
}

}  // namespace exechost::keeper
