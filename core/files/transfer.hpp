// From one end to the other, within the limits, counted.
#pragma once

#include <cstdint>
#include <functional>

#include "core/files/entry.hpp"
#include "core/files/limits.hpp"

namespace exechost::files {

struct Counts {
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::uint64_t links = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries() const { return files + folders + links; }
};

struct TransferOptions {
  Limits limits;
  std::function<void(const Counts&)> on_progress;  // after every entry and every megabyte
  // False: the transfer is not wanted any more.
  std::function<bool()> wanted;
};

// `counts` is what was done, also when it fails: then the entry under way is not in it. ECANCELED when it is
// not wanted any more.
Result<void> transfer(EntrySource& source, EntrySink& sink, const TransferOptions& options, Counts& counts);

}  // namespace exechost::files
