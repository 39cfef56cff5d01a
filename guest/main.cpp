// exechost-guest: the program that runs inside an environment, confines itself, starts one
// command and reports how it ended (docs/guest.md). Started by a keeper, not by hand.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "guest/exec/exec_mode.hpp"
#include "guest/exec/supervisor.hpp"
#include "guest/serve/serve_mode.hpp"
#include "guest/serve/stream_mode.hpp"

namespace {

constexpr char kUsage[] =
    "usage: exechost-guest exec|serve [--stream] [--stdin-fd=N] [--stdout-fd=N] [--stderr-fd=N] [--cgroup=FOLDER]\n"
    "Started by ExecHost with a control socket as descriptor 3; not meant to be run by hand.\n";

int usage() {
  // Nobody is left to tell when standard error is closed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kUsage, sizeof kUsage - 1);
  return exechost::guest::kExitUsage;
}

// "--NAME=N" with N a descriptor other than the control socket.
bool parse_descriptor(const char* argument, const char* name, int& fd) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return false;
  char* end = nullptr;
  const long value = std::strtol(argument + length, &end, 10);
  constexpr long kHighest = 1023;
  if (end == argument + length || *end != 0 || value < 0 || value > kHighest || value == exechost::guest::kControlFd) {
    return false;
  }
  fd = static_cast<int>(value);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  const bool serve = std::strcmp(argv[1], "serve") == 0;
  if (!serve && std::strcmp(argv[1], "exec") != 0) return usage();
  exechost::guest::CommandStdio stdio;
  const char* cgroup = nullptr;
  bool stream = false;
  constexpr char kCgroup[] = "--cgroup=/";
  for (int i = 2; i < argc; ++i) {
    if (std::strncmp(argv[i], kCgroup, sizeof kCgroup - 1) == 0) {
      cgroup = argv[i] + sizeof kCgroup - 2;  // with its first slash
      continue;
    }
    if (serve && std::strcmp(argv[i], "--stream") == 0) {
      stream = true;
      continue;
    }
    const bool known = parse_descriptor(argv[i], "--stdin-fd=", stdio.fds[0]) ||
                       parse_descriptor(argv[i], "--stdout-fd=", stdio.fds[1]) ||
                       parse_descriptor(argv[i], "--stderr-fd=", stdio.fds[2]);
    if (!known) return usage();
  }
  if (stream && cgroup != nullptr) return usage();
  int status = exechost::guest::kExitUsage;
  if (stream) {
    status = exechost::guest::run_stream_mode(stdio);
  } else {
    status = serve ? exechost::guest::run_serve_mode(stdio, cgroup) : exechost::guest::run_exec_mode(stdio, cgroup);
  }
  return status == exechost::guest::kExitUsage ? usage() : status;
}
