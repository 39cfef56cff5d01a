#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/unique_fd.hpp"
#include "core/settings/layer.hpp"
#include "core/settings/settings.hpp"
#include "core/settings/settings_file.hpp"
#include "core/settings/strict_json.hpp"

namespace exechost::settings {
namespace {

constexpr std::size_t kLargestFile = 1024UL * 1024;

Failure refused(const std::string& path, const std::string& rule, std::string hint = {}, int error_number = 0) {
  Failure failure = broken_setting(path, "", "", rule, std::move(hint));
  failure.step = "settings file";
  failure.error_number = error_number;
  return failure;
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

// Everything is asked of the opened file: a name can be given to another one at any time.
Result<void> check_file(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return tl::unexpected(refused(path, reason(errno), {}, errno));
  if (!S_ISREG(status.st_mode)) return tl::unexpected(refused(path, "a settings file must be a regular file"));
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return tl::unexpected(
        refused(path,
                fmt::format("a settings file must belong to root or to user {}; this one belongs to user {}",
                            ::geteuid(), status.st_uid),
                "make a copy of your own after reading it"));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return tl::unexpected(
        refused(path,
                fmt::format("a settings file must not be writable by group or others; its mode is {:04o}",
                            status.st_mode & 07777U),
                "chmod go-w " + path));
  }
  return {};
}

// Whoever may write to the folder may put another file in the place of this one, or take it away.
// A group is taken as the user's own.
Result<void> check_folder(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return tl::unexpected(refused(path, reason(errno), {}, errno));
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return tl::unexpected(refused(
        path,
        fmt::format("the folder of a settings file must belong to root or to user {}; this one belongs to user {}",
                    ::geteuid(), status.st_uid),
        "use a folder of your own"));
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    return tl::unexpected(
        refused(path,
                fmt::format("the folder of a settings file must not be writable by others; its mode is {:04o}",
                            status.st_mode & 07777U),
                "chmod o-w " + path));
  }
  return {};
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(refused(path, "can't be read: " + reason(errno), {}, errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile) {
      return tl::unexpected(refused(path, fmt::format("a settings file has at most {} bytes", kLargestFile)));
    }
  }
}

// Nothing when there is no such file.
Result<std::optional<std::string>> read_text(Scope scope, const std::string& folder, const std::string& name) {
  const std::string path = folder + (folder.ends_with('/') ? "" : "/") + name;
  const UniqueFd place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) {
    const int error_number = errno;
    if (error_number == ENOENT || error_number == ENOTDIR) return std::nullopt;
    return tl::unexpected(refused(folder, "can't be opened: " + reason(error_number), {}, error_number));
  }
  // What administrators fix holds only where nobody else can take it away.
  if (scope == Scope::managed) {
    if (auto fine = check_folder(place.get(), folder); !fine) return tl::unexpected(fine.error());
  }
  // O_NONBLOCK: a pipe of that name must not stop us.
  const UniqueFd fd(::openat(place.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    const int error_number = errno;
    if (error_number == ENOENT || error_number == ENOTDIR) return std::nullopt;
    const std::string rule = error_number == ELOOP ? "a settings file must not be a symbolic link"
                                                   : "can't be opened: " + reason(error_number);
    return tl::unexpected(refused(path, rule, {}, error_number));
  }
  if (auto fine = check_file(fd.get(), path); !fine) return tl::unexpected(fine.error());
  // A project may be anybody's: its file can only narrow.
  if (scope != Scope::project) {
    if (auto fine = check_folder(place.get(), folder); !fine) return tl::unexpected(fine.error());
  }
  auto text = read_all(fd.get(), path);
  if (!text) return tl::unexpected(text.error());
  return std::move(*text);
}

Result<std::optional<Document>> read_file(Scope scope, const std::string& folder, std::string_view name) {
  if (folder.empty()) return std::nullopt;
  const std::string path = folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
  auto text = read_text(scope, folder, std::string(name));
  if (!text) return tl::unexpected(text.error());
  if (!*text) return std::nullopt;
  auto values = parse_json_strict(**text, path);
  if (!values) return tl::unexpected(values.error());
  if (!values->is_object()) return tl::unexpected(refused(path, "a settings file must hold one JSON object"));
  return Document{scope, path, std::move(*values)};
}

}  // namespace

Result<std::optional<std::string>> read_settings_text(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return read_text(Scope::user, folder, path.substr(slash + 1));
}

Result<std::vector<Document>> read_files(const Locations& locations) {
  struct Place {
    Scope scope;
    const std::string& folder;
    std::string_view name;
  };
  const std::array places{
      Place{Scope::system, locations.system_dir, "settings.json"},
      Place{Scope::user, locations.user_dir, "settings.json"},
      Place{Scope::project, locations.project_dir, ".exechost.json"},
      Place{Scope::managed, locations.system_dir, "managed.json"},
  };
  std::vector<Document> documents;
  for (const Place& place : places) {
    auto document = read_file(place.scope, place.folder, place.name);
    if (!document) return tl::unexpected(document.error());
    if (*document) documents.push_back(std::move(**document));
  }
  return documents;
}

}  // namespace exechost::settings
