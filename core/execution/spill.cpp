#include "core/execution/spill.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace exechost::execution {
namespace {

unexpected<Failure> problem(const std::string& path, std::string_view rule, int error_number) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::collect;
  failure.step = "spill";
  failure.error_number = error_number;
  failure.message = error_number == 0 ? fmt::format("{}: {}", path, rule)
                                      : fmt::format("{}: {}: {}", path, rule, std::strerror(error_number));
  failure.hint = "make room or correct the folder's owner and mode, or set resources.output_spill to false";
  return unexpected(std::move(failure));
}

Result<UniqueFd> open_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);  // what fails here shows in the last step
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return problem(path, "the folder can't be made", errno);
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return problem(path, "the folder can't be opened", errno);
  struct stat info {};
  if (::fstat(folder.get(), &info) != 0) return problem(path, "the folder can't be examined", errno);
  if (info.st_uid != ::geteuid()) return problem(path, "the folder must belong to the user who runs commands", 0);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return problem(path, "the folder must not be writable by others", 0);
  return folder;
}

}  // namespace

Result<SpillFile> SpillFile::create(const std::string& folder, std::string_view suffix) {
  auto folder_fd = open_folder(folder);
  if (!folder_fd) return unexpected(folder_fd.error());
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return problem(folder, "no random name could be made", errno);
  }
  std::string name = fmt::format("{:016x}{:016x}.{}", random[0], random[1], suffix);
  std::string path = folder + "/" + name;
  UniqueFd file(::openat(folder_fd->get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return problem(path, "the file can't be made", errno);
  return SpillFile(std::move(*folder_fd), std::move(file), std::move(name), std::move(path));
}

SpillFile::SpillFile(UniqueFd folder, UniqueFd file, std::string name, std::string path)
    : folder_(std::move(folder)), file_(std::move(file)), name_(std::move(name)), path_(std::move(path)) {}

SpillFile& SpillFile::operator=(SpillFile&& other) noexcept {
  if (this != &other) {
    remove();
    folder_ = std::move(other.folder_);
    file_ = std::move(other.file_);
    name_ = std::move(other.name_);
    path_ = std::move(other.path_);
    kept_ = other.kept_;
  }
  return *this;
}

SpillFile::~SpillFile() { remove(); }

void SpillFile::remove() noexcept {
  if (folder_ && !kept_) ::unlinkat(folder_.get(), name_.c_str(), 0);
  folder_.reset();
}

Result<void> SpillFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return problem(path_, "writing failed", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace exechost::execution
