#include "guest/files/builtin.hpp"

#include <cstring>

#include "guest/files/report.hpp"

namespace exechost::guest::files {

int run_builtin(char* const* arguments) {
  int count = 0;
  while (arguments[count] != nullptr) ++count;
  struct OnPath {
    const char* name;
    int (*run)(const char*);
  };
  constexpr OnPath kOnPath[] = {
      {"pack", pack}, {"stat", stat}, {"list", list}, {"remove", remove}, {"remove-tree", remove_tree}};
  for (const OnPath& builtin : kOnPath) {
    if (count == 2 && std::strcmp(arguments[0], builtin.name) == 0) return builtin.run(arguments[1]);
  }
  if (count == 3 && std::strcmp(arguments[0], "unpack") == 0) return unpack(arguments[1], arguments[2]);
  return kBuiltinUsage;
}

}  // namespace exechost::guest::files
