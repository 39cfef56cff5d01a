// A file that keeps the whole of one stream when the capture can't.
#pragma once

#include <string>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "exechost/failure.hpp"

namespace exechost::execution {

// A new file, 0600, with an unpredictable name. Removed on destruction unless keep() was called.
class SpillFile {
 public:
  // `folder` is made (0700, with its parents) when missing; refused when it is not the effective
  // user's or is writable by others. `suffix` ends the file's name ("stdout").
  static Result<SpillFile> create(const std::string& folder, std::string_view suffix);
  SpillFile(SpillFile&&) noexcept = default;
  SpillFile& operator=(SpillFile&&) noexcept;
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  // Appends all of it. Failure (disk full, quota): what the file holds is incomplete.
  Result<void> append(std::string_view bytes);
  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  SpillFile(UniqueFd folder, UniqueFd file, std::string name, std::string path);
  void remove() noexcept;

  UniqueFd folder_;
  UniqueFd file_;
  std::string name_;
  std::string path_;
  bool kept_ = false;
};

}  // namespace exechost::execution
