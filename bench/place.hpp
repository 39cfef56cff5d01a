// The folders of one run of the benchmarks: a workspace, a home, settings. Gone with the object.
#pragma once

#include <map>
#include <string>

#include "exechost/host.hpp"

namespace exechost::bench {

class Place {
 public:
  // Settings there allow plain processes and know the backend that does nothing. Throws std::system_error.
  Place();
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::string workspace() const { return base_ + "/workspace"; }
  std::string home() const { return base_ + "/home"; }
  const std::map<std::string, std::string>& environment() const { return environment_; }
  HostOptions host_options(KeeperPlacement keeper) const;

 private:
  std::string base_;
  std::map<std::string, std::string> environment_;
};

// BUILD/NAME of the build tree that this program is in.
std::string built(const std::string& relative);

}  // namespace exechost::bench
