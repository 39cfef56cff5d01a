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
  // An empty file in `folder`, which outlives it: without a name where the file system has such files,
  // so that nothing is left over whatever happens; else named.
  static Result<Replacement> begin(const Located& folder, mode_t mode, const Patience& patience);
  // With a name that nobody else will choose.
  static Result<Replacement> begin_named(const Located& folder, mode_t mode, const Patience& patience);
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
