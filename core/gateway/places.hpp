// From a path as somebody gave it to an open file that the policy lets be seen.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/gateway/access.hpp"
#include "exechost/failure.hpp"
#include "exechost/gateway.hpp"

namespace exechost::gateway {

struct OpenedRoot {
  std::string path;    // as it is asked for
  std::string source;  // the folder or file of the host
  std::string folder;  // what `fd` is open on: `source`, or its parent when that is a file
  UniqueFd fd;         // O_PATH
};

// Something that exists and may be seen. Nothing of it was opened: `fd` is O_PATH.
struct Located {
  UniqueFd fd;
  struct stat status {};
  std::string host_path;  // where it really is
  std::string shown;      // as it was asked for
  const OpenedRoot* root = nullptr;

  bool is_regular() const { return S_ISREG(status.st_mode); }
  bool is_folder() const { return S_ISDIR(status.st_mode); }
  bool is_link() const { return S_ISLNK(status.st_mode); }
};

enum class FinalLink { follow, keep };

class Places {
 public:
  static Result<Places> open(const Policy& policy);

  // `from` is where relative paths begin, absolute. Denied for what is hidden or outside.
  Result<Located> locate(const AccessRules& rules, std::string_view path, std::string_view from, FinalLink link,
                         const Patience& patience) const;

  // The same for a path below something located, without following a single link. "" is `start` itself.
  static Result<Located> locate_below(const AccessRules& rules, const Located& start, std::string_view relative,
                                      const Patience& patience);

 private:
  std::vector<OpenedRoot> roots_;
};

// The contents, for reading from the start. Only of a regular file: what is open is the very inode
// that was located, so a FIFO or a device that takes its name meanwhile is not opened.
Result<UniqueFd> open_contents(const Located& file);
// For reading its entries.
Result<UniqueFd> open_entries(const Located& folder);

FileKind kind_of(mode_t mode);

}  // namespace exechost::gateway
