// The ways in which a process gets out of its parent's sight.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exechost::conformance {

struct TreeShape {
  std::string_view name;    // "double fork"
  std::string_view before;  // shell words before and after the quoted script of the process
  std::string_view after;
  // Shell text that starts a process in this shape, running `process` by sh -c, and goes on.
  std::string script(const std::string& process) const;
  std::string file_name() const;  // the name without blanks
};

const std::vector<TreeShape>& tree_shapes();

}  // namespace exechost::conformance
