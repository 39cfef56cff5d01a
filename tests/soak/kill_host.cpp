// A framework in small, to be killed, or to have its keepers, guests and shells killed: runs several commands at the
// same time, of every kind that there is, twice, and then a few more that have to work whatever happened.
//
//   soak_kill_host PREFIX child|in_process
//
// Lines on standard output, each in one write:
//
//   begun                      the next thing is the first run
//   job ok|KIND                a command in the background of the session "s" has been started
//   end WHAT STATUS STARTED KIND RECREATED SIGNAL ENVIRONMENT OUTPUT
//   over                       all but the last few have ended
//   done                       everything has
//
// "-" stands for nothing. Each command leaves the file ran.WHAT in the workspace when it runs, a line for each time.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exechost/host.hpp"
#include "exechost/session.hpp"

namespace {

using exechost::ExecHost;
using exechost::ExecResult;
using exechost::Execution;
using exechost::Request;

constexpr int kRounds = 2;
constexpr const char* kSession = "s";

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

std::string word(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ',');
  return text.empty() ? "-" : text;
}

void tell(const std::string& what, const ExecResult& result) {
  say(fmt::format("end {} {} {} {} {} {} {} {}", what, exechost::to_string(result.status),
                  exechost::to_string(result.started), result.failure ? exechost::to_string(result.failure->kind) : "-",
                  result.environment_recreated ? "recreated" : "-", result.signal_number, word(result.environment_id),
                  word(result.out.data)));
  if (result.failure) {
    const std::string text = fmt::format("{}: {}\n", what, exechost::describe(*result.failure));
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) std::abort();
  }
}

// Those that run together last for a moment, so that there is something to kill.
constexpr const char* kMoment = "sleep 0.03";

std::string script(const std::string& what, const std::string& does) { return "echo >> ran." + what + "; " + does; }

Request marked(const std::string& what) {
  Request request;
  request.env["SOAK_RUN"] = what;  // so that its processes are found
  return request;
}

Request command(const std::string& what, const std::string& does) {
  Request request = marked(what);
  request.argv = {"/bin/sh", "-c", script(what, does)};
  return request;
}

// Counts in the state that scripts of one environment hand on.
Request shell(const std::string& what, const std::string& does = {}) {
  Request request = marked(what);
  request.env["SOAK_SHELL"] = what;
  request.shell = script(what, "count=$((count + 1)); export count; echo $count; " + does);
  return request;
}

Request local(Request request) {
  request.tier = "node";
  request.backend = "local";
  return request;
}

class Running {
 public:
  void add(const std::string& what, exechost::Result<Execution> started) {
    if (started) {
      executions_.emplace_back(what, std::move(*started));
      return;
    }
    ExecResult failed;
    failed.failure = started.error();
    tell(what, failed);
  }
  void wait() {
    for (auto& [what, execution] : executions_) tell(what, execution.wait());
    executions_.clear();
  }

 private:
  std::vector<std::pair<std::string, Execution>> executions_;
};

void start_job(const exechost::Session& session) {
  Request request;
  request.argv = {"/bin/sleep", "1000"};
  const auto started = session.start_detached(request, {"job", false});
  say(fmt::format("job {}", started ? "ok" : exechost::to_string(started.error().kind)));
}

void all(ExecHost& host) {
  const exechost::Session session = host.session(kSession);
  const std::string escape = "(setsid sh -c 'sleep 100 & sleep 100' &); " + std::string(kMoment);
  Running running;
  for (int round = 1; round <= kRounds; ++round) {
    const std::string n = "." + std::to_string(round);
    running.add("plain" + n, host.start(command("plain" + n, kMoment)));
    running.add("stray" + n, host.start(command("stray" + n, escape)));
    running.add("script" + n, host.start(shell("script" + n, kMoment)));
    running.add("local" + n, host.start(local(command("local" + n, escape))));
    if (round == 1) start_job(session);
    running.add("named" + n, session.start(shell("named" + n, kMoment)));
    running.wait();
  }
  say("over");
  for (const std::string n : {".3", ".4"}) {
    tell("plain" + n, host.run(command("plain" + n, "echo on")));
    tell("script" + n, host.run(shell("script" + n)));
    tell("local" + n, host.run(local(command("local" + n, "echo on"))));
    tell("named" + n, session.run(shell("named" + n)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  exechost::HostOptions options;
  options.prefix = argv[1];
  options.keeper =
      argv[2] == std::string_view("child") ? exechost::KeeperPlacement::child : exechost::KeeperPlacement::in_process;
  {
    ExecHost host(options);
    say("begun");
    all(host);
  }
  say("done");
  return EXIT_SUCCESS;
}
