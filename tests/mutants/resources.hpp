// What an environment leaves in the world: one file of its name, with its labels in it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mutants {

class Resources {
 public:
  // An empty folder: environments leave nothing.
  explicit Resources(std::string folder) : folder_(std::move(folder)) {}

  // 0 or errno.
  int add(const std::string& name, const nlohmann::json& labels) const;
  // 0 also when it is not there.
  int remove(const std::string& name) const;
  // [{"name", "labels"}]
  nlohmann::json list() const;

 private:
  std::string path_of(const std::string& name) const { return folder_ + '/' + name; }

  std::string folder_;
};

}  // namespace mutants
