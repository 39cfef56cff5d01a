// Programs started without ExecHost: what it is compared with.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace exechost::bench {

// A stopwatch in microseconds.
class Stopwatch {
 public:
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// posix_spawn with standard input from /dev/null and both outputs to it; argv[0] is a path. Of the
// other descriptors those reach the program that are not FD_CLOEXEC. Throws std::system_error.
pid_t spawn(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
            const std::string& cwd);
// Throws std::runtime_error unless it ends with 0.
void wait_for_success(pid_t pid, const std::string& name);
// Both, and how many microseconds they took.
double spawn_and_wait(const std::vector<std::string>& argv, const std::map<std::string, std::string>& environment,
                      const std::string& cwd);

}  // namespace exechost::bench
