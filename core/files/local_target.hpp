// A place of this machine as the end of a transfer. Each entry is one walk beneath the folder, over no link; a
// file appears whole under its name or not at all.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/files/entry.hpp"

namespace exechost::files {

enum class LinkRule { skip, keep_inside, keep };

struct LocalTargetOptions {
  LinkRule links = LinkRule::skip;
  bool exact_modes = false;  // else the process's umask has a say
  bool keep_times = false;   // a file's last change of content, from a local tree
  std::string shown;         // the target in messages
  SkipHandler on_skip;
};

class LocalTarget final : public EntrySink {
 public:
  // The root becomes `name` in `folder`, which outlives this.
  LocalTarget(int folder, std::string name, LocalTargetOptions options)
      : folder_(folder), name_(std::move(name)), options_(std::move(options)) {}
  ~LocalTarget() override;
  LocalTarget(const LocalTarget&) = delete;
  LocalTarget& operator=(const LocalTarget&) = delete;

  Result<void> begin(const Entry& entry) override;
  Result<void> write(std::string_view bytes) override;
  Result<void> end() override;
  Result<void> finish() override;

  // Of the file that was begun, to write it by other means than write().
  int descriptor() const { return file_.get(); }

 private:
  std::string beneath(const std::string& path) const;
  Result<void> begin_folder(int parent, const std::string& name, const Entry& entry);
  Result<void> begin_file(UniqueFd parent, std::string name, const Entry& entry);
  Result<void> make_link(int parent, const std::string& name, const Entry& entry);
  Result<void> fail(const std::string& path, std::string_view step, int error) const;
  void drop();

  int folder_;
  std::string name_;
  LocalTargetOptions options_;
  UniqueFd parent_;         // of the file that was begun
  std::string temporary_;   // its name at present
  std::string final_name_;  // and in the end
  UniqueFd file_;
  Entry entry_;
  std::vector<std::pair<std::string, mode_t>> closed_folders_;  // get their mode when nothing more comes into them
};

}  // namespace exechost::files
