// Where a guest is tried: as an ordinary process or as process 1 of its own PID namespace, as root
// or as an ordinary user.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace exechost::guest::test {

inline constexpr uid_t kOrdinaryUser = 65534;

struct Place {
  bool init = false;
  bool root = false;
  bool served = false;  // the command is one of a `serve` guest's
};
// The names of the parametrised tests: "process_user", "init_root", ...
std::string name_of(const testing::TestParamInfo<Place>& place);
std::vector<Place> every_place();
std::vector<Place> every_place_and_served();

// Programs copied to a folder that every user can reach, since a build folder may be in a
// private home. Removed with the object.
class StagedPrograms {
 public:
  StagedPrograms();
  ~StagedPrograms();
  StagedPrograms(const StagedPrograms&) = delete;
  StagedPrograms& operator=(const StagedPrograms&) = delete;

  const std::string& folder() const { return folder_; }
  std::string guest() const { return folder_ + "/exechost-guest"; }
  std::string probe(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

// fork(2) past the thread sanitizer, which starts a thread of its own in a child: a process with two threads can't
// make a user namespace.
pid_t plain_fork();

// Turns the calling process (a fresh child) into the place and returns in the process that is to
// become the guest; a process between is left behind that ends with the guest's status. Ends the
// process with 120 and a line on standard error when something is not possible.
void enter(const Place& place);

// Why `place` can't be tried on this machine, or empty.
std::string why_not(const Place& place);

}  // namespace exechost::guest::test
