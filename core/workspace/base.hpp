// What a workspace was like when it was copied: for every path what it held and who it was, there and in the copy.
// Kept beside the copy, out of every command's reach.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>

#include "core/files/entry.hpp"
#include "exechost/failure.hpp"

namespace exechost::workspace {

// Of a file that was not written, changed or exchanged since these are the same; no command can set the last.
struct Identity {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  // mtime
  std::int64_t touched_ns = 0;  // ctime
  bool operator==(const Identity&) const = default;
};
Identity identity_of(const struct stat& status);

struct Record {
  files::Kind kind = files::Kind::file;
  std::uint32_t mode = 0;
  std::string sha256;  // of a file's content
  std::string target;  // of a link
  Identity original;
  Identity copy;
};

struct Base {
  std::string workspace;
  std::uint64_t device = 0;  // of the workspace folder
  std::uint64_t inode = 0;
  std::map<std::string, Record> records;  // by path below it; the workspace itself is ""
};

// In the open folder of the copy; whole or as before.
Result<void> save(const Base& base, int folder);
// invalid_request with ENOENT when there is none.
Result<Base> load(int folder);

}  // namespace exechost::workspace
