// What a built-in has to say besides its bytes: lines on its standard error, read by the host (docs/guest.md).
//
//   skipped REASON PATH      reason: link, socket, fifo, device, unreadable, other
//   before FILES FOLDERS LINKS BYTES SKIPPED   what was done when it failed; of `unpack`
//   failed STEP ERRNO PATH   the last line, exit status 3
//   done FILES FOLDERS LINKS BYTES SKIPPED   the last line, exit status 0
//
// `stat` and `list` write lines to standard output, too; the last word is the path as it was given, or the name:
//
//   TYPE MODE SIZE SECONDS NANOSECONDS NAME   type: file, folder, link, socket, fifo, device, other; mode in decimal,
//                                             without the type; the time is the last change of the content
//
// In a PATH every byte but printable ASCII, and '%', is written as %XX.
#pragma once

#include <cstdint>

namespace exechost::guest::files {

inline constexpr int kBuiltinDone = 0;
inline constexpr int kBuiltinFailed = 3;
inline constexpr int kBuiltinUsage = 2;
// Lines about skipped entries; what comes after them is counted only.
inline constexpr std::uint64_t kMaxSkippedLines = 100;

struct Totals {
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::uint64_t links = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;
};

void report_skipped(Totals& totals, const char* reason, const char* path);
// The exit status.
int report_failed(const char* step, int error, const char* path);
int report_done(const Totals& totals);
// What is whole although the rest failed; before report_failed.
void report_before(const Totals& totals);

}  // namespace exechost::guest::files
