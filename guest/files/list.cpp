#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "guest/files/builtin.hpp"
#include "guest/files/kernel_entry.hpp"
#include "guest/files/line.hpp"
#include "guest/files/report.hpp"

namespace exechost::guest::files {

namespace {

const char* type_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "folder";
  if (S_ISLNK(mode)) return "link";
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISFIFO(mode)) return "fifo";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "device";
  return "other";
}

int describe(const struct stat& status, const char* name, Output& output) {
  constexpr mode_t kBits = 07777;
  Line line;
  line.add(type_of(status.st_mode));
  line.add(" ");
  line.add(std::uint64_t{status.st_mode & kBits});
  line.add(" ");
  line.add(static_cast<std::uint64_t>(status.st_size));
  line.add(status.st_mtim.tv_sec < 0 ? " -" : " ");
  const auto seconds = static_cast<std::uint64_t>(status.st_mtim.tv_sec);
  line.add(status.st_mtim.tv_sec < 0 ? ~seconds + 1 : seconds);
  line.add(" ");
  line.add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
  line.add(" ");
  line.add_path(name);
  return line.put(output);
}

// One per process; too large for a stack whose limit a command may have been given.
Output& output() {
  static Output the_output(1);
  return the_output;
}

int finished(const Totals& totals, int error, const char* step, const char* path) {
  if (error == 0) error = output().flush();
  return error == 0 ? report_done(totals) : report_failed(step, error, path);
}

}  // namespace

int stat(const char* path) {
  struct stat status {};
  if (::fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return report_failed("stat", errno, path);
  Totals totals;
  totals.files = 1;
  return finished(totals, describe(status, path, output()), "write", "");
}

int list(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return report_failed("open", errno, path);
  Totals totals;
  int written = 0;
  const int read = for_each_name(fd, [&](const char* name) {
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) return true;
    struct stat status {};
    // Gone meanwhile.
    if (::fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    ++totals.files;
    written = describe(status, name, output());
    return written == 0;
  });
  ::close(fd);
  if (read != 0) return report_failed("list", read, path);
  return finished(totals, written, "write", "");
}

}  // namespace exechost::guest::files
