// One request's look at the file system: each path once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/plan/facts.hpp"

namespace exechost::plan {

class PathWatch;

// Not safe from several threads.
class Inspector {
 public:
  // With a watch, everything that is looked at is covered by it first.
  explicit Inspector(PathWatch* watch = nullptr) : watch_(watch) {}

  // What inspect_path() saw when it was first asked about this path. The reference stays good.
  const PathFact& at(const std::string& path);

  // The same for one of many names of which few exist: `name`, of one or more components, below
  // `folder`. Null when it does not exist. A folder that is asked about more than a few names is listed,
  // once; what its list does not have is not looked for.
  const PathFact* existing_below(const std::string& folder, std::string_view name);

  // As names_in.
  std::optional<std::vector<std::string>> names(const std::string& folder, std::size_t limit);

 private:
  struct Folder {
    std::size_t asked = 0;
    // Sorted, whatever their case. Nothing: not listed yet, or it can't be, or it has too much.
    std::optional<std::vector<std::string>> names;
  };
  bool may_have(const std::string& path, std::string_view name);
  PathFact look(const std::string& path);

  PathWatch* watch_;
  std::unordered_map<std::string, PathFact> facts_;
  std::unordered_map<std::string, Folder> folders_;
};

}  // namespace exechost::plan
