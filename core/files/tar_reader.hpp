// What a guest packed, as a source. Hostile: it is accepted only if it is exactly what a guest would have written,
// and named in the failure where it is not.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "core/files/entry.hpp"
#include "guest/files/tar.hpp"

namespace exechost::files {

class TarReader final : public EntrySource {
 public:
  // Reads `fd` to its end, blocking; it stays the caller's. `most_entries` bounds what is remembered.
  TarReader(int fd, std::uint64_t most_entries) : fd_(fd), most_entries_(most_entries) {}

  Result<bool> next(Entry& entry) override;
  Result<std::size_t> read(char* buffer, std::size_t size) override;

 private:
  struct Folder {
    std::string path;  // in the stream
    std::unordered_set<std::string> names;
  };

  Result<void> take(char* bytes, std::size_t size);
  Result<void> pass_over_content();
  Result<bool> next_header(guest::tar::Header& header, std::string& name, std::string& target);
  Result<void> long_text(const guest::tar::Header& header, std::string& text);
  Result<void> end_of_stream();
  Result<void> admit(const std::string& name, bool folder);

  int fd_;
  std::uint64_t most_entries_;
  std::uint64_t entries_ = 0;
  std::uint64_t left_ = 0;     // of the content
  std::uint64_t padding_ = 0;  // behind it
  std::string name_;           // of the last entry, for messages
  std::vector<Folder> open_;   // from the root to where the last entry was
  bool seen_root_ = false;
  bool ended_ = false;
};

}  // namespace exechost::files
