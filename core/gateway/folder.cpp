#include "core/gateway/folder.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/gateway/failures.hpp"
#include "core/gateway/patience.hpp"
#include "core/plan/paths.hpp"

namespace exechost::gateway {
namespace {

constexpr std::size_t kEntriesBetweenChecks = 1024;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Nothing when the entry has gone meanwhile.
std::optional<FileKind> kind_of_entry(int folder, const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG: return FileKind::regular;
    case DT_DIR: return FileKind::folder;
    case DT_LNK: return FileKind::symlink;
    case DT_UNKNOWN: break;  // this file system doesn't say
    default: return FileKind::other;
  }
  struct stat status {};
  if (::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return std::nullopt;
  return kind_of(status.st_mode);
}

}  // namespace

Result<FolderContents> read_folder(const AccessRules& rules, const Located& folder, std::uint64_t most,
                                   const Patience& patience) {
  auto fd = open_entries(folder);
  if (!fd) return unexpected(fd.error());
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(fd->get()));
  if (!stream) return unexpected(from_errno(folder.shown, "opendir", errno));
  const int descriptor = fd->release();  // the stream's now

  FolderContents contents;
  for (std::size_t count = 0;; ++count) {
    if (count % kEntriesBetweenChecks == 0) {
      if (auto wanted = still_wanted(patience); !wanted) return unexpected(wanted.error());
    }
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return unexpected(from_errno(folder.shown, "readdir", errno));
      return contents;
    }
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name == "." || name == "..") continue;
    const auto kind = kind_of_entry(descriptor, *entry);
    if (!kind || rules.decide(plan::join_path(folder.host_path, name)) == Access::hidden) continue;
    if (contents.entries.size() >= most) {
      contents.truncated = true;
      return contents;
    }
    contents.entries.push_back({std::string(name), *kind});
  }
}

void sort_by_name(std::vector<FolderEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
}

}  // namespace exechost::gateway
