#include "program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace exechost::bwrap {
namespace {

constexpr std::array kUsualPlaces{"/usr/bin/bwrap", "/usr/local/bin/bwrap"};
constexpr const char* kInstallHint = "install bubblewrap (on Debian: apt-get install bubblewrap)";

// Whether somebody else could replace what is at `path`. Empty: nobody could.
std::string weakness(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return path + " can't be examined: " + std::strerror(errno);
  if (status.st_uid != 0 && status.st_uid != geteuid()) return path + " belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return path + " is writable by others";
  return {};
}

std::variant<Program, ProgramProblem> examine(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  if (!resolved) return ProgramProblem{"bwrap is not at " + path + ": " + std::strerror(errno), kInstallHint, errno};
  Program program{resolved.get()};
  struct stat status {};
  if (stat(program.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return ProgramProblem{program.path + " is not a regular file", kInstallHint, 0};
  }
  if (access(program.path.c_str(), X_OK) != 0) {
    return ProgramProblem{program.path + " is not executable", "make it executable, or reinstall bubblewrap", errno};
  }
  for (std::string step = program.path;;) {
    if (std::string problem = weakness(step); !problem.empty()) {
      return ProgramProblem{
          problem, "bwrap and every folder above it must belong to root or you and be writable by nobody else", 0};
    }
    const std::size_t slash = step.rfind('/');
    if (slash == 0) break;
    step.erase(slash);
  }
  return program;
}

}  // namespace

std::variant<Program, ProgramProblem> find_program(const std::string& configured) {
  if (!configured.empty()) return examine(configured);
  for (const char* place : kUsualPlaces) {
    if (access(place, F_OK) == 0) return examine(place);
  }
  return ProgramProblem{"bwrap is not installed: neither /usr/bin/bwrap nor /usr/local/bin/bwrap exists", kInstallHint,
                        ENOENT};
}

}  // namespace exechost::bwrap
