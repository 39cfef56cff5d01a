#include "core/keeper/session_marks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

namespace exechost::keeper {
namespace {

constexpr std::size_t kMostBytes = 120;  // two digits each, within NAME_MAX
constexpr std::size_t kMostMarks = 4096;

// A file name for any bytes; of long ones the beginning, which may say of one too many that it was there.
std::string mark_of(const std::string& owner, const std::string& name) {
  std::string mark = "s";
  for (const char byte : (name + '\0' + owner).substr(0, kMostBytes))
    mark += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return mark;
}

}  // namespace

SessionMarks::SessionMarks(int folder, const std::string& keeper) {
  const std::string name = keeper + ".sessions";
  if (::mkdirat(folder, name.c_str(), 0700) != 0 && errno != EEXIST) return;
  folder_.reset(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const int walked = folder_ ? ::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0) : -1;
  if (walked < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(walked), ::closedir);
  if (!listing) {
    ::close(walked);
    return;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own
  while (const dirent* const entry = ::readdir(listing.get())) {
    const std::string mark = entry->d_name;
    if (mark.empty() || mark.front() != 's' || lost_.size() >= kMostMarks) continue;
    if (::unlinkat(folder_.get(), mark.c_str(), 0) == 0) lost_.insert(mark);
  }
}

void SessionMarks::add(const std::string& owner, const std::string& name) {
  if (!folder_) return;
  const UniqueFd made(
      ::openat(folder_.get(), mark_of(owner, name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

void SessionMarks::remove(const std::string& owner, const std::string& name) {
  if (folder_) ::unlinkat(folder_.get(), mark_of(owner, name).c_str(), 0);
}

void SessionMarks::lose(const std::string& owner, const std::string& name) {
  if (lost_.size() < kMostMarks) lost_.insert(mark_of(owner, name));
}

bool SessionMarks::take_lost(const std::string& owner, const std::string& name) {
  return lost_.erase(mark_of(owner, name)) != 0;
}

}  // namespace exechost::keeper
