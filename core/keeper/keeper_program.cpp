#include "core/keeper/keeper_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/unique_fd.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() { ::posix_spawnattr_init(&attributes_); }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// Own session: a Ctrl-C at the terminal is the host's to handle, and the keeper must be there to
// clean up after it.
int prepare(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = ::posix_spawnattr_setsigmask(attributes, &none);
  if (error == 0) error = ::posix_spawnattr_setsigdefault(attributes, &all);
  if (error == 0) {
    error = ::posix_spawnattr_setflags(
        attributes, static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  return error;
}

int prepare(posix_spawn_file_actions_t* actions, int socket) {
  int error = ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = ::posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (error == 0 && ::fcntl(STDERR_FILENO, F_GETFD) < 0) {
    error = ::posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  if (error == 0 && socket >= 0) error = ::posix_spawn_file_actions_adddup2(actions, socket, kKeeperSocket);
  if (error == 0) error = ::posix_spawn_file_actions_addclosefrom_np(actions, kKeeperSocket + (socket >= 0 ? 1 : 0));
  return error;
}

}  // namespace

Result<pid_t> spawn_keeper_program(const std::string& program, std::vector<std::string> arguments, int socket,
                                   char* const* environment) {
  // Above the numbers that the actions fill.
  UniqueFd passed;
  if (socket >= 0) {
    passed.reset(::fcntl(socket, F_DUPFD_CLOEXEC, kKeeperSocket + 1));
    if (!passed) {
      const int error = errno;
      return unexpected(make_failure(FailureKind::unavailable, Phase::provision,
                                     fmt::format("no descriptor for the keeper: {}", std::strerror(error)),
                                     "descriptors", error));
    }
  }
  FileActions actions;
  Attributes attributes;
  int error = prepare(actions.get(), socket >= 0 ? passed.get() : -1);
  if (error == 0) error = prepare(attributes.get());
  arguments.insert(arguments.begin(), program);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  if (error == 0)
    error = ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), pointers.data(), environment);
  if (error != 0) {
    return unexpected(make_failure(FailureKind::unavailable, Phase::provision,
                                   fmt::format("the keeper \"{}\" can't be started: {}", program, std::strerror(error)),
                                   "posix_spawn", error, "check the installation: it belongs into libexec/exechost"));
  }
  return pid;
}

}  // namespace exechost::keeper
