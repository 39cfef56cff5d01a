// Folders of one run of the kit: a workspace, a home, settings and state of its own.
#pragma once

#include <map>
#include <string>

#include "exechost/failure.hpp"

namespace exechost::conformance {

// Removed with everything in it at the end. Not safe from several threads.
class Scratch {
 public:
  static Result<Scratch> make();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();

  const std::string& root() const { return root_; }
  std::string workspace() const { return root_ + "/workspace"; }
  // Beside the workspace: no command may see it.
  std::string outside() const { return root_ + "/outside"; }
  std::string user_config() const { return root_ + "/config/exechost"; }
  // For the ExecHost under test and for an `exechost` started by the kit.
  std::map<std::string, std::string> environment() const;

 private:
  explicit Scratch(std::string root) : root_(std::move(root)) {}
  std::string root_;  // empty: moved from
};

// Small files of the kit's own folders. Reading gives what can be read, perhaps nothing.
Result<void> write_file(const std::string& path, const std::string& content);
std::string read_file(const std::string& path);

}  // namespace exechost::conformance
