#include "core/cleanup/ledger.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/cleanup/own_folder.hpp"

namespace exechost::cleanup {
namespace {

using nlohmann::json;

constexpr int kSchema = 1;
constexpr std::size_t kMaxEntryBytes = 64UL * 1024;
constexpr std::string_view kSuffix = ".json";
constexpr const char* kWhat = "the ledger's folder";

Failure problem(std::string message, int error_number, std::string step, std::string hint = {}) {
  if (error_number != 0) message += fmt::format(": {}", std::strerror(error_number));
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::provision;
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  failure.error_number = error_number;
  failure.step = std::move(step);
  return failure;
}

flock whole_file(short type) {
  flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return unexpected(problem("a ledger entry can't be written", errno, "write"));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string read_bounded(int fd) {
  std::string text(kMaxEntryBytes + 1, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.size() > kMaxEntryBytes ? std::string() : text;
}

std::string text_of(const LedgerRecord& record, const Identity& identity) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const json entry{{"schema", kSchema},
                   {"id", record.id},
                   {"backend", record.backend},
                   {"name", record.name},
                   {"kind", record.kind},
                   {"labels", record.labels},
                   {"pid", identity.pid},
                   {"pid_start_time", identity.pid_start},
                   {"machine", identity.machine},
                   {"boot", identity.boot},
                   {"pid_ns", identity.pid_ns},
                   {"created_at_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()}};
  return entry.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Whether the entry was made here: only then a free lock says that nobody keeps it.
bool is_of_this_place(const json& entry, const Identity& here) {
  const auto holds = [&entry](const char* name, const json& value) {
    const auto member = entry.find(name);
    return member != entry.end() && *member == value;
  };
  return entry.is_object() && holds("schema", kSchema) && holds("machine", here.machine) && holds("boot", here.boot) &&
         holds("pid_ns", here.pid_ns);
}

}  // namespace

LedgerEntry::LedgerEntry(UniqueFd fd, std::string path, LedgerRecord record)
    : fd_(std::move(fd)), path_(std::move(path)), record_(std::move(record)) {}
LedgerEntry::LedgerEntry(LedgerEntry&&) noexcept = default;
LedgerEntry& LedgerEntry::operator=(LedgerEntry&&) noexcept = default;
LedgerEntry::~LedgerEntry() = default;

Result<void> LedgerEntry::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    Failure failure = problem(fmt::format("the ledger entry \"{}\" can't be removed", path_), errno, "unlink");
    failure.phase = Phase::cleanup;
    return unexpected(std::move(failure));
  }
  fd_.reset();
  return {};
}

Ledger::Ledger(std::string folder) : folder_(std::move(folder)), here_(current_identity()) {}

Result<Ledger> Ledger::open(const std::string& folder) {
  if (auto opened = make_own_folder(folder, kWhat); !opened) return unexpected(opened.error());
  return Ledger(folder);
}

Result<LedgerEntry> Ledger::add(const LedgerRecord& record) {
  if (!is_id(record.id)) {
    return unexpected(problem(fmt::format("the ledger id \"{}\" is not 32 lower-case hex digits", record.id), 0, "id"));
  }
  auto folder = open_own_folder(folder_, kWhat);
  if (!folder) return unexpected(folder.error());
  const std::string text = text_of(record, here_);
  if (text.size() > kMaxEntryBytes) {
    return unexpected(problem(
        fmt::format("the ledger entry of \"{}\" has {} bytes, more than {}", record.name, text.size(), kMaxEntryBytes),
        0, "size"));
  }
  // No name before the lock is held: whoever finds an entry with a free lock may remove what it names.
  UniqueFd fd(::openat(folder->get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) {
    return unexpected(problem(fmt::format("no ledger entry can be made in \"{}\"", folder_), errno, "O_TMPFILE",
                              "set XDG_RUNTIME_DIR to a folder on a local file system (tmpfs, ext4, xfs, btrfs)"));
  }
  flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    return unexpected(problem("a ledger entry can't be locked", errno, "lock"));
  }
  if (auto written = write_all(fd.get(), text); !written) return unexpected(written.error());
  const std::string name = record.id + std::string(kSuffix);
  const std::string self = fmt::format("/proc/self/fd/{}", fd.get());
  if (::linkat(AT_FDCWD, self.c_str(), folder->get(), name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return unexpected(problem(fmt::format("the ledger entry \"{}/{}\" can't be made", folder_, name), errno, "link"));
  }
  return LedgerEntry(std::move(fd), folder_ + "/" + name, record);
}

std::vector<std::string> Ledger::orphans() const {
  std::vector<std::string> found;
  auto folder = open_own_folder(folder_, kWhat);
  if (!folder) return found;
  const int folder_fd = folder->release();
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(folder_fd), ::closedir);
  if (!listing) {
    ::close(folder_fd);
    return found;
  }
  while (const dirent* item = ::readdir(listing.get())) {
    const std::string name = static_cast<const char*>(item->d_name);
    if (!name.ends_with(kSuffix) || !is_id(name.substr(0, name.size() - kSuffix.size()))) continue;
    const UniqueFd fd(::openat(::dirfd(listing.get()), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd) continue;
    flock lock = whole_file(F_WRLCK);
    if (::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK) continue;
    struct stat now {};
    if (::fstat(fd.get(), &now) != 0 || now.st_nlink == 0) continue;  // removed in the meantime by its holder
    const json entry = json::parse(read_bounded(fd.get()), nullptr, false);
    if (is_of_this_place(entry, here_)) found.push_back(folder_ + "/" + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string default_runtime_folder(const std::map<std::string, std::string>& environment) {
  const auto runtime = environment.find("XDG_RUNTIME_DIR");
  // The base directory specification: a relative path is to be ignored.
  // It is made at login and belongs to the user; another one (left by su, or gone) is not ours to make.
  struct stat status {};
  if (runtime != environment.end() && runtime->second.starts_with('/') &&
      ::stat(runtime->second.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid()) {
    return runtime->second + "/exechost";
  }
  if (::geteuid() == 0) return "/run/exechost";
  return fmt::format("/tmp/exechost-{}", ::geteuid());
}

}  // namespace exechost::cleanup
