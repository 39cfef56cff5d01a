#include "core/plugin/loaded_object.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/unique_fd.hpp"
#include "core/plugin/failures.hpp"

namespace exechost::plugin {
namespace {

// "major:minor inode" as /proc/self/maps writes them.
using Identity = std::string;

std::optional<std::string> read_maps() {
  const UniqueFd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (!maps) return std::nullopt;
  std::string text;
  for (;;) {
    char buffer[65536];
    const ssize_t count = ::read(maps.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(line.find(' ', begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

bool covers(std::string_view range, std::uintptr_t address) {
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return false;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  const char* const text = range.data();
  if (std::from_chars(text, text + dash, begin, 16).ec != std::errc()) return false;
  if (std::from_chars(text + dash + 1, text + range.size(), end, 16).ec != std::errc()) return false;
  return begin <= address && address < end;
}

// proc(5): "address perms offset dev inode pathname".
std::optional<Identity> identity_at(std::string_view maps, const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (!covers(next_word(line), wanted)) continue;
    next_word(line);
    next_word(line);
    const std::string_view device = next_word(line);
    return std::string(device) + " " + std::string(next_word(line));
  }
  return std::nullopt;
}

}  // namespace

Result<bool> is_mapped_from(const void* address, int fd, const std::string& path) {
  // The kernel shows other device numbers there than fstat gives on overlayfs and btrfs. So the
  // file is mapped for a moment, and two lines of one reading are compared.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return unexpected(refused(path, "can't be mapped", {}, errno));
  const std::optional<std::string> maps = read_maps();
  std::optional<Identity> expected;
  std::optional<Identity> actual;
  if (maps) {
    expected = identity_at(*maps, mapped);
    actual = identity_at(*maps, address);
  }
  ::munmap(mapped, page);
  if (!expected || !actual) {
    return unexpected(refused(path, "can't be compared with what was loaded", "/proc has to be mounted"));
  }
  return *expected == *actual;
}

}  // namespace exechost::plugin
