#include "cli/copy_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "cli/output.hpp"

namespace exechost::cli {
namespace {

constexpr std::chrono::milliseconds kBetween{200};

}  // namespace

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr double kStep = 1024;
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / kStep;
  std::size_t unit = 0;
  for (; value >= kStep && unit + 1 < kUnits.size(); ++unit) value /= kStep;
  return fmt::format("{:.1f} {}", value, kUnits.at(unit));
}

void CopyProgressLine::update(const CopyProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now < next_) return;
  next_ = now + kBetween;
  written_ = true;
  std::string line = fmt::format("\r\x1b[Kexechost: {} entries, {}", progress.entries, readable_bytes(progress.bytes));
  if (progress.total_bytes) line += fmt::format(" of {}", readable_bytes(*progress.total_bytes));
  write_all(STDERR_FILENO, line);
}

void CopyProgressLine::clear() {
  if (written_) write_all(STDERR_FILENO, "\r\x1b[K");
  written_ = false;
}

}  // namespace exechost::cli
