#include "bench/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <system_error>

namespace exechost::bench {
namespace {

class FileActions {
 public:
  explicit FileActions(const std::string& cwd) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions_, cwd.c_str());
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

pid_t spawn(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
            const std::string& cwd) {
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) variables.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> variable_pointers = pointers(variables);
  const FileActions actions(cwd);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, argv[0].c_str(), actions.get(), nullptr, argument_pointers.data(), variable_pointers.data());
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);
  return pid;
}

void wait_for_success(pid_t pid, const std::string& name) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  if (status != 0) throw std::runtime_error(fmt::format("{} ended with wait status {:#x}", name, status));
}

double spawn_and_wait(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
                      const std::string& cwd) {
  const Stopwatch watch;
  wait_for_success(spawn(argv, environment, cwd), argv[0]);
  return watch.microseconds();
}

}  // namespace exechost::bench
