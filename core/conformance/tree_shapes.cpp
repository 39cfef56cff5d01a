#include "core/conformance/tree_shapes.hpp"

#include <algorithm>

namespace exechost::conformance {

std::string TreeShape::script(const std::string& process) const {
  std::string quoted;
  for (const char letter : process) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return std::string(before) + "sh -c '" + quoted + "'" + std::string(after);
}

std::string TreeShape::file_name() const {
  std::string file(name);
  std::replace(file.begin(), file.end(), ' ', '-');
  return file;
}

const std::vector<TreeShape>& tree_shapes() {
  static const std::vector<TreeShape> shapes{
      {"child", "", " &"},
      {"double fork", "(", " &)"},
      {"session", "setsid ", " &"},
      {"session, deaf to signals", "setsid sh -c 'trap \"\" TERM INT HUP QUIT USR1; exec \"$@\"' deaf ", " &"},
      {"daemon", "(setsid nohup ", " <&- >&- 2>&- &)"}};
  return shapes;
}

}  // namespace exechost::conformance
