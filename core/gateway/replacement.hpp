// A file that comes into being whole, under its name, or not at all.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "core/gateway/places.hpp"

namespace exechost::gateway {

class Replacement {
 public:
  // An empty file of `folder`'s file system that has no name yet, or, where the file system has no
  // such files, one that nobody else will choose. `folder` outlives it.
  static Result<Replacement> begin(const Located& folder, mode_t mode, const Patience& patience);
  ~Replacement();  // removes what was not committed
  Replacement(Replacement&& other) noexcept;
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  Replacement& operator=(Replacement&&) = delete;

  int descriptor() const { return fd_.get(); }
  Result<void> write(std::string_view bytes, const Patience& patience);

  // EEXIST when something has that name.
  Result<void> commit_new(const std::string& name);
  // Takes the place of whatever file has that name.
  Result<void> commit_over(const std::string& name);

 private:
  explicit Replacement(const Located& folder) : folder_(&folder) {}

  const Located* folder_;
  UniqueFd fd_;
  std::string temporary_;  // its name at present; empty: none
};

}  // namespace exechost::gateway
