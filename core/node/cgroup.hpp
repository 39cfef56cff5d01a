// Cgroups of single commands: folders below the keeper's own cgroup, where the machine lets it make
// some (root, or a delegated subtree). Internal to this module. [any thread]
#pragma once

#include <string>
#include <vector>

namespace exechost::node {

struct CgroupPlace {
  std::string folder;    // where cgroups of commands are made; empty: they can't be
  std::string evidence;  // what was seen
};

// Tries it out: makes one, looks whether it can be killed, removes it. And those that one left which was killed
// meanwhile.
CgroupPlace find_cgroup_place();

// Those of one environment's commands: its guest, or its guests, make them and remove them.
class CommandCgroups {
 public:
  CommandCgroups() = default;
  // `folder`: where they are made; empty: there are none. `name`: the environment's, unique for ever.
  CommandCgroups(std::string folder, const std::string& name) : folder_(std::move(folder)), prefix_(name + '-') {}

  bool any() const { return !folder_.empty(); }
  // What the path of each begins with; "-NUMBER" follows.
  std::string base() const;
  // That of the `number`th command alone.
  CommandCgroups only(unsigned number) const;
  const std::string& path() const { return only_; }
  // SIGKILL to every member of each, by the kernel, at once.
  void kill() const;
  // True when none is there. False while a member lives.
  bool remove() const;

 private:
  std::vector<std::string> paths() const;

  std::string folder_;
  std::string prefix_;
  std::string only_;  // a path; empty: all with the prefix
};

}  // namespace exechost::node
