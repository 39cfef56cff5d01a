#include "guest/files/builtin.hpp"

#include <cstring>

#include "guest/files/report.hpp"

namespace exechost::guest::files {

int run_builtin(char* const* arguments) {
  int count = 0;
  while (arguments[count] != nullptr) ++count;
  if (count == 2 && std::strcmp(arguments[0], "pack") == 0) return pack(arguments[1]);
  if (count == 3 && std::strcmp(arguments[0], "unpack") == 0) return unpack(arguments[1], arguments[2]);
  return kBuiltinUsage;
}

}  // namespace exechost::guest::files
