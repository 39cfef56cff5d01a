// One file, folder or link of a tree on its way, and the two ends of the way. Not for several threads.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

namespace exechost::files {

enum class Kind { file, folder, link };

struct Entry {
  Kind kind = Kind::file;
  std::string path;        // below the root, raw bytes; "" is the root, which comes first
  std::uint32_t mode = 0;  // 0777 at most
  std::uint64_t size = 0;  // of a file
  std::string target;      // of a link
  // Of a local tree only: what was looked at, and a file's descriptor at its beginning.
  struct stat status {};
  int fd = -1;
};

// Folders before what is in them, each folder's entries together, nothing twice.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  // False: that was all. What is left of the last entry's content is passed over.
  virtual Result<bool> next(Entry& entry) = 0;
  // Content of the file that came last; 0 at its end, not before `size` bytes.
  virtual Result<std::size_t> read(char* buffer, std::size_t size) = 0;
};

class EntrySink {
 public:
  virtual ~EntrySink() = default;
  virtual Result<void> begin(const Entry& entry) = 0;
  // Content of the file that was begun: exactly its size in all, then end().
  virtual Result<void> write(std::string_view bytes) = 0;
  virtual Result<void> end() = 0;
  // After the last one.
  virtual Result<void> finish() = 0;
};

// What does not travel, and why: link, socket, fifo, device, unreadable, other.
using SkipHandler = std::function<void(const std::string& path, std::string_view reason)>;

}  // namespace exechost::files
