// Whether processes grow while they do the same again and again.
#pragma once

#include <string>
#include <vector>

#include "tests/support/scene.hpp"

namespace exechost::test {

struct Footprint {
  long descriptors = 0;
  long threads = 0;
  long anonymous_kib = 0;  // resident, without files
};
Footprint footprint_of(pid_t pid);

class Growth {
 public:
  struct Member {
    std::string name;  // for a person
    pid_t pid = 0;
  };

  // What all of them have now, and what is below this process, is what they need.
  Growth(const Scene& scene, std::vector<Member> members);
  // Says on standard output what they have now.
  void show(int runs) const;
  // Fails where one has more than at the beginning. `runs` since then.
  void expect_none(int runs) const;

 private:
  std::vector<ProcessInfo> added_processes() const;
  static Footprint settled(const Member& member, const Footprint& before);

  const Scene& scene_;
  std::vector<Member> members_;
  std::vector<Footprint> before_;
  std::set<pid_t> processes_;
  std::size_t allocated_;  // in this process
  std::size_t ledger_entries_;
  std::set<std::string> files_;
};

// Everything below a folder.
std::set<std::string> files_below(const std::string& folder);

}  // namespace exechost::test
