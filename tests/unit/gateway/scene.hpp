// A workspace on the disk, beside things that must stay out of reach.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/gateway/commands/run.hpp"
#include "exechost/gateway.hpp"
#include "tests/support/temp_folder.hpp"

namespace exechost::gateway {

inline constexpr std::string_view kSecret = "outside: never to be seen\n";

class Scene {
 public:
  Scene();

  std::string workspace() const { return temp_.path() + "/ws"; }
  std::string outside() const { return temp_.path() + "/outside"; }  // holds "secret" with kSecret
  std::string base() const { return temp_.path(); }
  std::string in(std::string_view relative) const { return workspace() + '/' + std::string(relative); }

  // Below the workspace; parents are made.
  void file(std::string_view relative, std::string_view content, mode_t mode = 0644) const;
  void folder(std::string_view relative) const;
  void link(std::string_view relative, std::string_view target) const;
  void fifo(std::string_view relative) const;
  void sparse(std::string_view relative, off_t size) const;
  std::string content(std::string_view relative) const { return test::read_file(in(relative)); }

  Policy policy() const;  // the workspace, writable, and nothing else
  Gateway open() const { return open(policy()); }
  static Gateway open(Policy policy);

 private:
  test::TempFolder temp_;
};

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
  std::vector<Failure> problems;
};
// In the workspace; fails the test when the command is refused or interrupted.
Ran run(const Gateway& gateway, std::vector<std::string> argv, std::string input = {}, std::string cwd = {});
Result<CommandEnd> try_run(const Gateway& gateway, std::vector<std::string> argv);

MATCHER_P(FailsWith, kind, "") {
  if (arg.has_value()) {
    *result_listener << "succeeded";
    return false;
  }
  *result_listener << describe(arg.error());
  return arg.error().kind == kind && arg.error().phase == Phase::run;
}
MATCHER_P2(FailsWith, kind, error, "") {
  if (arg.has_value()) {
    *result_listener << "succeeded";
    return false;
  }
  *result_listener << describe(arg.error()) << ", errno " << arg.error().error_number;
  return arg.error().kind == kind && arg.error().error_number == error;
}
MATCHER(Succeeds, "") {
  if (!arg.has_value()) *result_listener << describe(arg.error());
  return arg.has_value();
}

}  // namespace exechost::gateway
