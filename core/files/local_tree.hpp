// A file or folder of this machine as a source. Each name is looked up in its open folder, over no link; what is
// open is what is sent, whatever gets its name meanwhile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/files/entry.hpp"
#include "core/files/limits.hpp"

namespace exechost::files {

struct LocalTreeOptions {
  Limits limits;          // entries (a folder's names are held in memory) and depth
  bool complete = false;  // what can't be read is a failure, not skipped
  SkipHandler on_skip;
};

class LocalTree final : public EntrySource {
 public:
  // `name` in `folder` is the root; "" is the folder itself. A link, a socket or the like is refused by name.
  static Result<std::unique_ptr<LocalTree>> open(int folder, const std::string& name, std::string shown,
                                                 LocalTreeOptions options);

  Result<bool> next(Entry& entry) override;
  Result<std::size_t> read(char* buffer, std::size_t size) override;

 private:
  struct Level {
    UniqueFd fd;
    std::string path;
    std::vector<std::string> names;  // sorted, last first
  };

  explicit LocalTree(LocalTreeOptions options) : options_(std::move(options)) {}
  Result<bool> give(UniqueFd fd, std::string path, Entry& entry);
  Result<bool> visit(const Level& level, const std::string& name, std::string path, Entry& entry);
  Result<void> enter(UniqueFd fd, const std::string& path);
  Result<bool> skip(const std::string& path, std::string_view reason, int error);

  LocalTreeOptions options_;
  std::string shown_;
  UniqueFd root_;
  std::vector<Level> levels_;
  UniqueFd file_;
  std::string file_path_;
  std::uint64_t left_ = 0;
  std::uint64_t listed_ = 0;
};

}  // namespace exechost::files
