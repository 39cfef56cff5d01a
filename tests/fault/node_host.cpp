// A framework in small: an ExecHost with a child keeper that runs one command of the node tier, for the
// kill matrix to kill it or its keeper.
//
//   fault_node_host PREFIX TIMEOUT_MS ARGV...
//
// Passes the command's output on, cancels at SIGTERM, and ends with a line
// "end: STATUS STARTED FAILURE-KIND".
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stop_token>
#include <thread>

#include "exechost/host.hpp"

namespace {

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return EXIT_FAILURE;
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
  std::stop_source stop;
  std::thread([term, stop]() mutable {
    int number = 0;
    ::sigwait(&term, &number);
    stop.request_stop();
  }).detach();

  exechost::HostOptions options;
  options.keeper = exechost::KeeperPlacement::child;
  options.prefix = argv[1];
  exechost::ExecHost host(options);
  exechost::Request request;
  request.backend = "local";
  request.timeout = std::chrono::milliseconds(std::strtol(argv[2], nullptr, 10));
  request.argv.assign(argv + 3, argv + argc);
  request.on_output = [](exechost::StdStream, std::string_view bytes) { say(bytes); };
  const exechost::ExecResult result = host.run(request, stop.get_token());
  say(fmt::format("end: {} {} {}\n", exechost::to_string(result.status), exechost::to_string(result.started),
                  result.failure ? exechost::to_string(result.failure->kind) : "-"));
  if (result.failure) fmt::print(stderr, "{}\n", exechost::describe(*result.failure));
  return EXIT_SUCCESS;
}
