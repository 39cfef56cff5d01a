// Layers put over each other, weakest first. Internal to this module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/settings/layer.hpp"
#include "core/settings/schema_tree.hpp"
#include "core/settings/settings.hpp"

namespace exechost::settings {

class Merge {
 public:
  explicit Merge(const SchemaTree& tree) : tree_(tree) {}

  // Puts `layer` over what is there: lists that unite unite, everything else is replaced. A
  // project's layer that does not narrow is a failure; a variable that changes a file's value
  // and a managed value that overrides a request are warnings.
  Result<void> add(const Layer& layer);

  struct Entry {
    nlohmann::json value;
    Origin origin;
  };
  const Entry* find(const Path& path) const;
  const std::map<Path, Entry>& entries() const { return entries_; }
  void set(const Path& path, Entry entry) { entries_[path] = std::move(entry); }

  void warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  void mention(const Path& path, const Entry& before, const Leaf& now, Scope scope);

  const SchemaTree& tree_;
  std::map<Path, Entry> entries_;  // parents before their members
  std::vector<std::string> warnings_;
};

// A leaf's value for a person: sizes and durations with units, "(secret)", "none".
std::string shown_setting(const nlohmann::json& value, const Presentation& presentation);
Presentation presentation_of(const SchemaTree::Node& node);

}  // namespace exechost::settings
