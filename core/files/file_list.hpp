// What the guest's `stat` and `list` say (guest/files/report.hpp). Hostile: parsed with bounds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exechost/failure.hpp"
#include "exechost/files.hpp"

namespace exechost::files {

class FileList {
 public:
  explicit FileList(std::uint64_t most_entries) : most_(most_entries) {}

  // In pieces as they come. False: it is not to be read any further, and failure() says why.
  bool add(std::string_view bytes);
  const std::optional<Failure>& failure() const { return failure_; }
  // By name.
  std::vector<FileEntry> take();

 private:
  bool read_line(std::string_view line);

  std::uint64_t most_;
  std::string line_;
  std::vector<FileEntry> entries_;
  std::optional<Failure> failure_;
};

}  // namespace exechost::files
