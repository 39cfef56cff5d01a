// The cgroups of a serving guest's commands, where the node tier gives them such.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace exechost::guest {

class CommandCgroups {
 public:
  // Null: there are none, and every call does nothing. Else a path to which "-NUMBER" is added.
  explicit CommandCgroups(const char* prefix) : prefix_(prefix) {}
  // Whether every path fits.
  bool fits() const;
  // Of that command; null where there are none. Good until the next call.
  const char* path_of(std::int32_t number);
  // For a command whose supervisor has died: kills who is left in it, and removes it. True: it is gone.
  bool end(std::int32_t number);

 private:
  static constexpr std::size_t kDigits = 11;  // with what is before them

  const char* prefix_;
  char path_[PATH_MAX] = {};
};

}  // namespace exechost::guest
