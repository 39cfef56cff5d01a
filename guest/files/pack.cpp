#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "guest/files/builtin.hpp"
#include "guest/files/kernel_entry.hpp"
#include "guest/files/report.hpp"
#include "guest/files/stream.hpp"
#include "guest/files/tar.hpp"

namespace exechost::guest::files {

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISFIFO(mode)) return "fifo";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "device";
  return "other";
}

class Packer {
 public:
  // The exit status.
  int run(const char* path) {
    struct stat status {};
    if (::fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return fail("stat", errno, path);
    if (S_ISLNK(status.st_mode)) return fail("stat", ELOOP, path);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return fail("stat", ENOTSUP, path);
    std::memcpy(path_, tar::kRoot, sizeof tar::kRoot);
    length_ = tar::kRootLength;
    const int fd = ::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return fail("open", errno, path);
    if (::fstat(fd, &status) != 0) return fail("stat", errno, path);
    bool done = false;
    if (S_ISDIR(status.st_mode)) {
      done = folder(fd, status, 0);
    } else {
      done = S_ISREG(status.st_mode) ? file(fd, status) : stop("stat", ENOTSUP);
    }
    if (!done) return kBuiltinFailed;
    const char zeros[2 * tar::kBlock] = {};
    int error = output_.add(zeros, sizeof zeros);
    if (error == 0) error = output_.flush();
    return error == 0 ? report_done(totals_) : fail("write", error, "");
  }

 private:
  static int fail(const char* step, int error, const char* path) { return report_failed(step, error, path); }
  bool stop(const char* step, int error) {
    fail(step, error, path_);
    return false;
  }

  bool write(const char* bytes, std::size_t size) {
    const int error = output_.add(bytes, size);
    return error == 0 || stop("write", error);
  }

  // In an entry before the one that it belongs to.
  bool write_long(tar::Type type, const char* text, std::size_t length) {
    tar::Header header;
    header.type = type;
    header.size = length + 1;
    std::memcpy(header.name, "././@LongLink", 14);
    return write_header(header) && write(text, length + 1) && pad(length + 1);
  }

  bool write_header(const tar::Header& header) {
    char block[tar::kBlock];
    tar::encode(header, block);
    return write(block, sizeof block);
  }

  bool pad(std::uint64_t size) {
    const char zeros[tar::kBlock] = {};
    return write(zeros, static_cast<std::size_t>(tar::padding(size)));
  }

  bool entry(tar::Type type, mode_t mode, std::uint64_t size, const char* target, std::size_t target_length) {
    tar::Header header;
    header.type = type;
    header.mode = mode & tar::kModeBits;
    header.size = size;
    // One less than there is room for: a folder's slash.
    if (length_ >= tar::kShortName) {
      if (!write_long(tar::Type::long_name, path_, length_)) return false;
    }
    std::memcpy(header.name, path_, length_ < tar::kShortName ? length_ : tar::kShortName - 1);
    if (target_length > tar::kShortName) {
      if (!write_long(tar::Type::long_link, target, target_length)) return false;
    }
    if (target != nullptr) {
      std::memcpy(header.link, target, target_length < tar::kShortName ? target_length : tar::kShortName);
    }
    return write_header(header);
  }

  // Closes `fd`.
  bool file(int fd, const struct stat& status) {
    const auto size = static_cast<std::uint64_t>(status.st_size);
    // A file that the kernel makes up as it is read (/proc) has no size that could be announced.
    char first = 0;
    if (size == 0 && ::read(fd, &first, 1) == 1) {
      ::close(fd);
      return skip("other");
    }
    const bool done = entry(tar::Type::file, status.st_mode, size, nullptr, 0) && contents(fd, size) && pad(size);
    ::close(fd);
    ++totals_.files;
    totals_.bytes += size;
    return done;
  }

  bool contents(int fd, std::uint64_t left) {
    while (left != 0) {
      const std::size_t wanted = left < sizeof data_ ? static_cast<std::size_t>(left) : sizeof data_;
      ssize_t count = 0;
      do {
        count = ::read(fd, data_, wanted);
      } while (count < 0 && errno == EINTR);
      if (count < 0) return stop("read", errno);
      if (count == 0) return stop("read", ESTALE);  // it has become shorter: what was announced can't be kept
      if (!write(data_, static_cast<std::size_t>(count))) return false;
      left -= static_cast<std::uint64_t>(count);
    }
    return true;
  }

  bool link(int folder_fd, const char* name) {
    char target[tar::kMaxPath + 1];
    const ssize_t length = ::readlinkat(folder_fd, name, target, sizeof target);
    if (length < 0 || length > static_cast<ssize_t>(tar::kMaxPath)) return skip("unreadable");
    target[length] = 0;
    ++totals_.links;
    return entry(tar::Type::link, 0777, 0, target, static_cast<std::size_t>(length));
  }

  // Closes `fd`.
  bool folder(int fd, const struct stat& status, int depth) {
    bool done =
        depth <= tar::kMaxDepth ? entry(tar::Type::folder, status.st_mode, 0, nullptr, 0) : stop("depth", E2BIG);
    ++totals_.folders;
    if (done) {
      const int error = for_each_name(fd, [&](const char* name) { return done = child(fd, name, depth); });
      if (error != 0) done = stop("list", error);
    }
    ::close(fd);
    return done;
  }

  bool child(int folder_fd, const char* name, int depth) {
    const std::size_t length = std::strlen(name);
    if (!tar::is_component(name, length)) return true;  // . and ..
    if (length_ + 1 + length > tar::kMaxPath) return stop("name", ENAMETOOLONG);
    const std::size_t before = length_;
    path_[length_] = '/';
    std::memcpy(path_ + length_ + 1, name, length + 1);
    length_ += 1 + length;
    const bool done = visit(folder_fd, name, depth);
    length_ = before;
    path_[length_] = 0;
    return done;
  }

  bool visit(int folder_fd, const char* name, int depth) {
    struct stat status {};
    if (::fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT || skip("unreadable");  // gone meanwhile, or no right to look
    }
    if (S_ISLNK(status.st_mode)) return link(folder_fd, name);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return skip(kind_of(status.st_mode));
    const int fd = ::openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE) return stop("open", errno);
      return errno == ENOENT || skip("unreadable");
    }
    // What is open counts: the name may have been given to something else.
    if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) return folder(fd, status, depth + 1);
    if (S_ISREG(status.st_mode)) return file(fd, status);
    ::close(fd);
    return skip(kind_of(status.st_mode));
  }

  bool skip(const char* reason) {
    report_skipped(totals_, reason, path_);
    return true;
  }

  char path_[tar::kMaxPath + 1];
  std::size_t length_ = 0;
  Totals totals_;
  Output output_{1};
  char data_[kBufferBytes];
};

}  // namespace

int pack(const char* path) {
  // One per process; too large for a stack whose limit a command may have been given.
  static Packer packer;
  return packer.run(path);
}

}  // namespace exechost::guest::files
