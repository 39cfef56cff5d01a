#include "core/keeper/shell/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper::shell {
namespace {

constexpr std::size_t kChunk = 65536;
constexpr int kChunksAtOnce = 32;  // then the others on the loop get their turn
constexpr std::size_t kMaxShown = 200;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  // Shells open it once more by its path below /proc/self, also as another user than the keeper's. Who can't look
  // into a process that has it can't do so.
  constexpr mode_t kAnybody = 0666;
  return ::fchmod(ends[0], kAnybody) == 0;
}

std::string shown(const std::string& path) {
  std::string text = escape_for_terminal(to_valid_utf8(path.substr(0, kMaxShown)));
  if (path.size() > kMaxShown) text += "...";
  return text;
}

}  // namespace

Result<std::unique_ptr<Run>> Run::make(std::shared_ptr<EventLoop> loop, std::shared_ptr<Line> line,
                                       const SpawnRequest& request) {
  Pipe in;
  Pipe out;
  std::unique_ptr<Run> run(new Run(std::move(loop), std::move(line)));
  const bool made = make_pipe(in) && make_pipe(out);
  if (made) run->in_reader_.reset(::fcntl(in.read.get(), F_DUPFD_CLOEXEC, 0));
  // Only our ends: the command's are as any program expects them.
  if (!made || !run->in_reader_ || ::fcntl(in.write.get(), F_SETFL, O_NONBLOCK) != 0 ||
      ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK) != 0) {
    const int error = errno;
    return unexpected(make_failure(FailureKind::spawn_failed, Phase::spawn,
                                   fmt::format("no pipe for the shell's state: {}", std::strerror(error)),
                                   "descriptors", error, "raise the limit of open files (ulimit -n)"));
  }
  run->in_ = std::move(in.write);
  run->out_ = std::move(out.read);
  run->commands_.push_back(std::move(in.read));
  run->commands_.push_back(std::move(out.write));
  const auto& state = run->line_->state;
  run->program_ = make_program(state, *request.shell, request.variables);
  if (state && !request.shell->cwd_given) run->folder_ = state->folder;
  return run;
}

Run::~Run() {
  stop_writing();
  stop_reading();
}

std::vector<UniqueFd> Run::take_descriptors() { return std::exchange(commands_, {}); }

void Run::start() {
  writing_ = reading_ = true;
  loop_->watch(in_.get(), POLLOUT, [this](short) { write_some(); });
  loop_->watch(out_.get(), POLLIN, [this](short) { read_some(); });
}

void Run::write_some() {
  const std::string& input = program_.input;
  while (written_ < input.size()) {
    const ssize_t count = ::write(in_.get(), input.data() + written_, input.size() - written_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) break;
    written_ += static_cast<std::size_t>(count);
  }
  stop_writing();  // its end-of-file is what the shell waits for
}

void Run::read_some() {
  std::array<char, kChunk> buffer;
  for (int i = 0; i < kChunksAtOnce; ++i) {
    const ssize_t count = ::read(out_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return stop_reading();
    handed_.take({buffer.data(), static_cast<std::size_t>(count)});
  }
}

void Run::stop_writing() {
  if (std::exchange(writing_, false)) loop_->unwatch(in_.get());
  in_.reset();
  in_reader_.reset();
}

void Run::stop_reading() {
  if (std::exchange(reading_, false)) loop_->unwatch(out_.get());
  out_.reset();
}

void Run::conclude(bool started, std::vector<std::string>& warnings) {
  stop_writing();
  if (out_) read_some();  // a pipe holds no more than that
  stop_reading();
  if (!started) return;
  if (const auto other = handed_.other_folder(); other && !folder_.empty()) {
    warnings.push_back(fmt::format("the session's folder \"{}\" can't be entered any more: the shell started in \"{}\"",
                                   shown(folder_), shown(*other)));
  }
  if (handed_.too_large()) {
    warnings.push_back(fmt::format(
        "the shell's state takes more than {} KiB and was not kept: the next one in this session goes on from "
        "the state before",
        kMaxStateBytes / 1024));
    return;
  }
  auto state = handed_.state();
  if (!state) {
    warnings.emplace_back(
        "the shell ended without handing its state on: the next one in this session goes on from the state before");
    return;
  }
  if (state->folder.empty() && line_->state) state->folder = line_->state->folder;
  line_->state = std::move(state);
}

}  // namespace exechost::keeper::shell
