// start, logs, attach, wait, kill: commands that go on in a named session.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/request_options.hpp"
#include "cli/setting_overrides.hpp"
#include "cli/terminal_approver.hpp"
#include "core/host/inspect.hpp"
#include "exechost/host.hpp"
#include "exechost/session.hpp"

namespace exechost::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kAwait = 30s;  // then it is asked for anew

HostOptions host_options() {
  HostOptions options;
  options.keeper = KeeperPlacement::in_process;
  options.single_run = true;
  return options;
}

int failed(const Failure& failure) {
  print_failure(failure);
  return kExitFailure;
}

int end_status(const DetachedCommand& command) {
  ExecResult result;
  result.status = command.status;
  result.exit_code = command.exit_code;
  result.signal_number = command.signal_number;
  result.failure = command.failure;
  if (command.failure) print_failure(*command.failure);
  return exit_status(result, 0);
}

// Passes on what it says from these offsets on, until it has ended when `to_the_end`; its exit status, or 0.
class Follower {
 public:
  Follower(const Session& session, std::string command) : session_(session), command_(std::move(command)) {}

  int follow(std::uint64_t out, std::uint64_t err, bool to_the_end) {
    for (bool first = true;; first = false) {
      // At once the first time: there may be nothing to wait for.
      const auto state = session_.await(command_, out, err, first ? 0ms : std::chrono::milliseconds(kAwait));
      if (!state) return failed(state.error());
      command_ = state->id;  // of the last one when none was named: another may be started meanwhile
      const bool read =
          pass_on(1, STDOUT_FILENO, out, state->out.end) && pass_on(2, STDERR_FILENO, err, state->err.end);
      if (!read) return kExitFailure;
      if (state->ended) return to_the_end ? end_status(*state) : 0;
      if (!to_the_end) return 0;
    }
  }

 private:
  bool pass_on(int stream, int descriptor, std::uint64_t& offset, std::uint64_t end) {
    while (offset < end) {
      std::uint64_t at = offset;
      const auto part = session_.read_log(command_, stream, at);
      if (!part) {
        print_failure(part.error());
        return false;
      }
      if (at > offset) print_note(fmt::format("{} bytes of stream {} are not kept any more", at - offset, stream));
      if (!write_all(descriptor, *part)) return false;
      offset = at + part->size();
      if (part->empty()) break;
    }
    return true;
  }

  const Session& session_;
  std::string command_;
};

// Standard input to the command, until either ends.
void pass_input(const std::stop_token& stop, const Session& session, const std::string& command) {
  std::array<char, 16384> buffer{};
  while (!stop.stop_requested()) {
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      [[maybe_unused]] const auto closed = session.close_input(command);
      return;
    }
    std::string_view left(buffer.data(), static_cast<std::size_t>(got));
    while (!left.empty() && !stop.stop_requested()) {
      const auto taken = session.write_input(command, left);
      if (!taken) return;
      left.remove_prefix(*taken);
    }
  }
}

int attach(const Session& session, const std::string& command, bool from_the_beginning) {
  const auto state = session.await(command, 0, 0, 0ms);
  if (!state) return failed(state.error());
  std::optional<std::jthread> input;
  if (state->input_open) {
    input.emplace([&session, id = state->id](const std::stop_token& stop) { pass_input(stop, session, id); });
  }
  Follower follower(session, state->id);
  return from_the_beginning ? follower.follow(0, 0, true) : follower.follow(state->out.end, state->err.end, true);
}

class StartCommand final : public Command {
 public:
  std::string name() const override { return "start"; }
  std::string summary() const override { return "Start a command that goes on in a named session when this ends"; }
  std::string examples() const override {
    return "  exechost start --detach --session web -- python3 -m http.server\n"
           "  exechost logs --follow web\n"
           "  exechost kill web\n"
           "\n"
           "With --detach the command's id is printed; without, its output is passed on until it ends, and it goes\n"
           "on when this is interrupted. It has no time-out unless one is asked for.";
  }
  bool takes_command() const override { return true; }
  int usage_status() const override { return kExitFailure; }
  void add_options(CLI::App& app) override {
    options_.add_command_options(app);
    options_.add_to(app);
    app.add_flag("-d,--detach", detach_, "Return when it has started, and print its id")->group("Command");
    app.add_option("--id", id_, "How it is called in its session; default: made up")->type_name("ID")->group("Command");
    app.add_flag("--stdin", stdin_, "Keep its standard input open, for attach; default: /dev/null")->group("Command");
  }

  int run(const CommandLine& line) override {
    auto request = options_.to_request(line);
    if (!request) return failed(request.error());
    const auto settings = host::inspect_settings(host_options(), *request);
    if (!settings) return failed(settings.error());
    const auto& name = settings->at("session.name");
    if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
      return failed(usage_failure("no session is named for the command to go on in", "for example: --session work"));
    }
    const auto approver = TerminalApprover::open();
    HostOptions options = host_options();
    if (approver) {
      options.approver = [&approver](const AdmissionQuestion& question, const std::stop_token& stop) {
        return approver->ask(question, stop);
      };
    }
    ExecHost host(options);
    const Session session = host.session(name.get<std::string>());
    const auto started = session.start_detached(*request, {id_, stdin_});
    if (!started) {
      ExecResult result;
      result.status = Status::failed;
      result.failure = started.error();
      print_failure(started.error());
      return exit_status(result, 0);
    }
    if (detach_) return print(*started + "\n");
    print_note(
        fmt::format("it goes on when this is interrupted: exechost attach {} {}", name.get<std::string>(), *started));
    return attach(session, *started, true);
  }

 private:
  RequestOptions options_;
  std::string id_;
  bool detach_ = false;
  bool stdin_ = false;
};

// SESSION and ID, as every command about one takes them.
class AboutCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("session", session_, "Name of the session")->type_name("SESSION");
    app.add_option("id", id_, "The command; default: the one that was started last")->type_name("ID");
  }
  int run(const CommandLine& /*line*/) override {
    if (session_.empty()) {
      print_failure(usage_failure("no session is named", fmt::format("for example: exechost {} work", name())));
      return kExitUsage;
    }
    // As another program's "kill -9" has it; here it would be a name.
    if (session_.front() == '-' && name() == "kill") {
      print_failure(usage_failure(fmt::format("\"{}\" is no session", session_),
                                  fmt::format("a signal is given by --signal {}", session_.substr(1))));
      return kExitUsage;
    }
    ExecHost host(host_options());
    return about(host.session(session_), id_);
  }

 protected:
  virtual int about(const Session& session, const std::string& id) = 0;

 private:
  std::string session_;
  std::string id_;
};

class LogsCommand final : public AboutCommand {
 public:
  std::string name() const override { return "logs"; }
  std::string summary() const override { return "What a command that goes on in a session has said"; }
  std::string examples() const override {
    return "  exechost logs work\n"
           "  exechost logs --follow work\n"
           "  exechost logs --from 4096 work 3f2a91c0\n"
           "\n"
           "Its streams go to standard output and error. The last 4 MiB of each are kept. With --follow the exit\n"
           "status is the command's.";
  }
  void add_options(CLI::App& app) override {
    AboutCommand::add_options(app);
    app.add_flag("-f,--follow", follow_, "Go on until it ends");
    app.add_option("--from", from_, "Only from this offset on (bytes, of each stream)")->type_name("OFFSET");
  }

 protected:
  int about(const Session& session, const std::string& id) override {
    return Follower(session, id).follow(from_, from_, follow_);
  }

 private:
  bool follow_ = false;
  std::uint64_t from_ = 0;
};

class AttachCommand final : public AboutCommand {
 public:
  std::string name() const override { return "attach"; }
  std::string summary() const override { return "Join a command that goes on in a session, until it ends"; }
  std::string examples() const override {
    return "  exechost attach work\n"
           "\n"
           "Passes on what it says from now on, and what is typed when it was started with --stdin. The command goes\n"
           "on when this is interrupted. Exit status: the command's.";
  }

 protected:
  int about(const Session& session, const std::string& id) override { return attach(session, id, false); }
};

class WaitCommand final : public AboutCommand {
 public:
  std::string name() const override { return "wait"; }
  std::string summary() const override { return "Wait for the end of a command that goes on in a session"; }
  std::string examples() const override {
    return "  exechost wait work\n"
           "  exechost wait work 3f2a91c0 && echo done\n"
           "\n"
           "Exit status: the command's.";
  }

 protected:
  int about(const Session& session, const std::string& id) override {
    std::string command = id;
    for (std::uint64_t out = 0, err = 0;;) {
      const auto state = session.await(command, out, err, kAwait);
      if (!state) return failed(state.error());
      if (state->ended) return end_status(*state);
      command = state->id;
      out = state->out.end;
      err = state->err.end;
    }
  }
};

class KillCommand final : public AboutCommand {
 public:
  std::string name() const override { return "kill"; }
  std::string summary() const override { return "Signal a command that goes on in a session"; }
  std::string examples() const override {
    return "  exechost kill work\n"
           "  exechost kill --signal KILL work 3f2a91c0\n"
           "\n"
           "The signal goes to the command's process group; KILL ends everything that it has started.";
  }
  void add_options(CLI::App& app) override {
    AboutCommand::add_options(app);
    app.add_option("--signal", signal_, "Name or number; default: TERM")->type_name("SIGNAL");
  }

 protected:
  int about(const Session& session, const std::string& id) override {
    const auto number = number_of(signal_);
    if (!number) {
      print_failure(
          usage_failure(fmt::format("there is no signal \"{}\"", signal_), "for example: TERM, KILL, INT, 15"));
      return kExitUsage;
    }
    const auto sent = session.signal(id, *number);
    return sent ? 0 : failed(sent.error());
  }

 private:
  static std::optional<int> number_of(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) {
      return number > 0 && number < NSIG ? std::optional(number) : std::nullopt;
    }
    std::string name(text);
    for (char& letter : name) letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
    if (name.starts_with("SIG")) name.erase(0, 3);
    for (int each = 1; each < NSIG; ++each) {
      const char* const abbreviation = ::sigabbrev_np(each);
      if (abbreviation != nullptr && name == abbreviation) return each;
    }
    return std::nullopt;
  }

  std::string signal_ = "TERM";
};

}  // namespace

std::unique_ptr<Command> make_start_command() { return std::make_unique<StartCommand>(); }
std::unique_ptr<Command> make_logs_command() { return std::make_unique<LogsCommand>(); }
std::unique_ptr<Command> make_attach_command() { return std::make_unique<AttachCommand>(); }
std::unique_ptr<Command> make_wait_command() { return std::make_unique<WaitCommand>(); }
std::unique_ptr<Command> make_kill_command() { return std::make_unique<KillCommand>(); }

}  // namespace exechost::cli
