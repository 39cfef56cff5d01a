// One path of the real workspace while a change is carried over: looked up beneath the workspace, over no link;
// compared with what it was; replaced whole.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/workspace/base.hpp"
#include "exechost/failure.hpp"

namespace exechost::workspace {

class RealFile {
 public:
  // Its parent has to be there.
  static Result<RealFile> look(int workspace, const std::string& path);

  bool there() const { return status_.has_value(); }
  // Is it what the record says it was? Content is read only where the identity leaves a doubt.
  Result<bool> is_as(const Record& record) const;
  // Is it already what the copy has?
  Result<bool> is_like(const Record& wanted) const;

  // Each fails with EEXIST or ESTALE where it was changed since look(); then it is as somebody else made it.
  Result<void> remove();
  Result<void> make_folder(mode_t mode);
  Result<void> set_mode(mode_t mode);
  Result<void> put_link(const std::string& target);
  // The content of `from`, read to its end; what was written is hashed into `sha256`.
  Result<void> put_file(int from, mode_t mode, std::string& sha256);

  Result<struct stat> status_now() const;

 private:
  RealFile(UniqueFd parent, std::string path) : parent_(std::move(parent)), path_(std::move(path)) {}
  Result<bool> matches(const Record& record, const Identity* known) const;
  Result<void> put(const std::string& temporary);
  Failure failed(std::string_view step, int error) const;

  UniqueFd parent_;
  std::string path_;
  std::string name_;
  std::optional<struct stat> status_;
};

files::Kind kind_of(mode_t mode, bool& known);

}  // namespace exechost::workspace
