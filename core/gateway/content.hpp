// A regular file's bytes in pieces.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "core/gateway/places.hpp"

namespace exechost::gateway {

inline constexpr std::size_t kPieceBytes = 256UL * 1024;

class Content {
 public:
  static Result<Content> open(const Located& file, std::uint64_t most_bytes, const Patience& patience);

  // Fills as much of `buffer` as there is from `offset` on: less than its size only at the file's
  // end. The file may grow or shrink between calls. Fails behind `most_bytes` in all.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer);

  std::uint64_t size() const { return size_; }  // when it was opened
  // Whether a part of the file from `offset` on was never written and reads as NUL bytes.
  bool has_hole_behind(std::uint64_t offset) const;

 private:
  Content(UniqueFd fd, std::uint64_t size, std::uint64_t most_bytes, Patience patience, std::string shown)
      : fd_(std::move(fd)),
        size_(size),
        most_(most_bytes),
        left_(most_bytes),
        patience_(std::move(patience)),
        shown_(std::move(shown)) {}

  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t left_ = 0;
  Patience patience_;
  std::string shown_;
};

// A file that is more than may be read in passing.
Failure too_big(std::string_view path, std::uint64_t limit);

}  // namespace exechost::gateway
