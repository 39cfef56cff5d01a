#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "guest/files/builtin.hpp"
#include "guest/files/report.hpp"
#include "guest/files/stream.hpp"
#include "guest/files/tar.hpp"

namespace exechost::guest::files {

namespace {

constexpr int kTries = 8;
constexpr char kTemporaryPrefix[] = ".exechost-";

struct TemporaryName {
  char text[sizeof kTemporaryPrefix + 24];

  void choose() {
    constexpr char kDigits[] = "0123456789abcdef";
    unsigned char bytes[12] = {};
    // Never short for so few; were it, the name would only be easier to collide with (EEXIST).
    [[maybe_unused]] const ssize_t got = ::getrandom(bytes, sizeof bytes, 0);
    char* at = text + sizeof kTemporaryPrefix - 1;
    std::memcpy(text, kTemporaryPrefix, sizeof kTemporaryPrefix - 1);
    for (const unsigned char byte : bytes) {
      *at++ = kDigits[byte >> 4];
      *at++ = kDigits[byte & 15];
    }
    *at = 0;
  }
};

class Unpacker {
 public:
  // The exit status.
  int run(const char* path, const char* name) {
    if (!find_target(path, name)) return kBuiltinFailed;
    for (;;) {
      tar::Header header;
      switch (next(header)) {
        case tar::Decoded::header: break;
        case tar::Decoded::end: return seen_root_ && rest_is_empty() ? report_done(totals_) : malformed();
        case tar::Decoded::malformed: return kBuiltinFailed;
      }
      if (!entry(header)) return kBuiltinFailed;
    }
  }

 private:
  bool stop(const char* step, int error) {
    report_before(totals_);
    report_failed(step, error, path_);
    return false;
  }
  int malformed() {
    stop("stream", EBADMSG);
    return kBuiltinFailed;
  }

  // Into a folder that is there, or under a name of its own.
  bool find_target(const char* path, const char* name) {
    std::memcpy(path_, tar::kRoot, sizeof tar::kRoot);
    base_fd_ = ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (base_fd_ >= 0) return set_name(name, std::strlen(name));
    if (errno != ENOENT && errno != ENOTDIR) return stop("target", errno);
    const std::size_t length = std::strlen(path);
    const char* slash = std::strrchr(path, '/');
    const char* last = slash == nullptr ? path : slash + 1;
    if (!set_name(last, length - static_cast<std::size_t>(last - path))) return false;
    char parent[tar::kMaxPath + 1] = ".";
    if (slash != nullptr) {
      const auto parent_length = static_cast<std::size_t>(slash - path);
      if (parent_length > tar::kMaxPath) return stop("target", ENAMETOOLONG);
      std::memcpy(parent, parent_length == 0 ? "/" : path, parent_length == 0 ? 1 : parent_length);
      parent[parent_length == 0 ? 1 : parent_length] = 0;
    }
    base_fd_ = ::open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return base_fd_ >= 0 || stop("target", errno);
  }

  bool set_name(const char* name, std::size_t length) {
    if (!tar::is_component(name, length)) return stop("target", EINVAL);
    std::memcpy(name_, name, length);
    name_[length] = 0;
    return true;
  }

  tar::Decoded next(tar::Header& header) {
    long_name_ = long_link_ = false;
    for (;;) {
      char block[tar::kBlock];
      if (const int error = read_fully(0, block, sizeof block); error != 0) {
        stop("read", error);
        return tar::Decoded::malformed;
      }
      const tar::Decoded decoded = tar::decode(block, header);
      if (decoded == tar::Decoded::malformed) malformed();
      if (decoded == tar::Decoded::end && (long_name_ || long_link_)) {
        malformed();
        return tar::Decoded::malformed;
      }
      if (decoded != tar::Decoded::header) return decoded;
      const bool is_name = header.type == tar::Type::long_name;
      if (!is_name && header.type != tar::Type::long_link) return decoded;
      if (std::exchange(is_name ? long_name_ : long_link_, true) ||
          !read_text(is_name ? path_ : target_, header.size)) {
        malformed();
        return tar::Decoded::malformed;
      }
    }
  }

  bool read_text(char* text, std::uint64_t size) {
    if (size < 2 || size > tar::kMaxPath + 1) return false;
    char pad[tar::kBlock];
    if (read_fully(0, text, static_cast<std::size_t>(size)) != 0 ||
        read_fully(0, pad, static_cast<std::size_t>(tar::padding(size))) != 0) {
      return false;
    }
    return ::strnlen(text, static_cast<std::size_t>(size)) == size - 1;
  }

  bool rest_is_empty() {
    char block[tar::kBlock];
    tar::Header ignored;
    return read_fully(0, block, sizeof block) == 0 && tar::decode(block, ignored) == tar::Decoded::end;
  }

  bool entry(const tar::Header& header) {
    if (!long_name_) std::memcpy(path_, header.name, sizeof header.name);
    if (!long_link_) std::memcpy(target_, header.link, sizeof header.link);
    const std::size_t length = std::strlen(path_);
    const bool is_root = length == tar::kRootLength;
    if (!tar::is_stream_path(path_, length) || is_root == seen_root_) return stop("stream", EBADMSG);
    seen_root_ = true;
    const int folder_fd = parent_of_entry();
    if (folder_fd < 0) return false;
    const char* slash = std::strrchr(path_, '/');
    const char* name = is_root ? name_ : slash + 1;
    bool done = false;
    switch (header.type) {
      case tar::Type::file: done = file(folder_fd, name, header); break;
      case tar::Type::folder: done = folder(folder_fd, name, header.mode); break;
      case tar::Type::link: done = !is_root ? link(folder_fd, name) : stop("stream", EBADMSG); break;
      case tar::Type::long_link:
      case tar::Type::long_name: done = stop("stream", EBADMSG); break;
    }
    ::close(folder_fd);
    return done;
  }

  // Each folder on the way by itself, no link followed: openat2 is refused in here.
  int parent_of_entry() {
    int fd = ::fcntl(base_fd_, F_DUPFD_CLOEXEC, 3);
    const char* at = path_;
    bool first = true;
    while (fd >= 0) {
      const char* slash = std::strchr(at, '/');
      if (slash == nullptr) return fd;
      char component[tar::kMaxName + 1];
      const auto length = static_cast<std::size_t>(slash - at);
      std::memcpy(component, at, length);
      component[length] = 0;
      const int deeper = ::openat(fd, first ? name_ : component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      const int error = errno;
      ::close(fd);
      errno = error;
      fd = deeper;
      first = false;
      at = slash + 1;
    }
    stop("open", errno);
    return -1;
  }

  bool folder(int folder_fd, const char* name, mode_t mode) {
    // The owner keeps the right to use it: more may come into it.
    const mode_t wanted = (mode & tar::kModeBits) | S_IRWXU;
    ++totals_.folders;
    if (::mkdirat(folder_fd, name, wanted) != 0) {
      const int error = errno;
      struct stat status {};
      if (error != EEXIST || ::fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return stop("mkdir", error);
      return S_ISDIR(status.st_mode) || stop("mkdir", ENOTDIR);  // one that was there stays as it is
    }
    const int fd = ::openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return stop("mkdir", errno);
    const int error = ::fchmod(fd, wanted) == 0 ? 0 : errno;  // whatever the umask is
    ::close(fd);
    return error == 0 || stop("chmod", error);
  }

  bool link(int folder_fd, const char* name) {
    if (target_[0] == 0) return stop("stream", EBADMSG);
    TemporaryName temporary;
    int error = EEXIST;
    for (int i = 0; i < kTries && error == EEXIST; ++i) {
      temporary.choose();
      error = ::symlinkat(target_, folder_fd, temporary.text) == 0 ? 0 : errno;
    }
    if (error != 0) return stop("symlink", error);
    ++totals_.links;
    return replace(folder_fd, temporary, name);
  }

  bool file(int folder_fd, const char* name, const tar::Header& header) {
    TemporaryName temporary;
    int fd = -1;
    for (int i = 0; i < kTries && fd < 0; ++i) {
      temporary.choose();
      fd = ::openat(folder_fd, temporary.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
      if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) return stop("create", errno);
    const char* step = "write";
    int error = contents(fd, header.size);
    if (error == 0 && ::fchmod(fd, header.mode & tar::kModeBits) != 0) {
      error = errno;
      step = "chmod";
    }
    // Some file systems say only now that there was no room.
    if (::close(fd) != 0 && error == 0) error = errno;
    if (error != 0) {
      ::unlinkat(folder_fd, temporary.text, 0);
      return stop(step, error);
    }
    ++totals_.files;
    totals_.bytes += header.size;
    return replace(folder_fd, temporary, name);
  }

  int contents(int fd, std::uint64_t size) {
    for (std::uint64_t left = size; left != 0;) {
      const std::size_t part = left < sizeof data_ ? static_cast<std::size_t>(left) : sizeof data_;
      if (const int error = read_fully(0, data_, part); error != 0) return error;
      if (const int error = write_fully(fd, data_, part); error != 0) return error;
      left -= part;
    }
    return read_fully(0, data_, static_cast<std::size_t>(tar::padding(size)));
  }

  // Never over a folder: the kernel says EISDIR.
  bool replace(int folder_fd, const TemporaryName& temporary, const char* name) {
    if (::renameat(folder_fd, temporary.text, folder_fd, name) == 0) return true;
    const int error = errno;
    ::unlinkat(folder_fd, temporary.text, 0);
    return stop("rename", error);
  }

  int base_fd_ = -1;
  char name_[tar::kMaxName + 1];    // of the root, in base_fd_
  char path_[tar::kMaxPath + 1];    // of the entry, in the stream
  char target_[tar::kMaxPath + 1];  // of a link
  bool long_name_ = false;
  bool long_link_ = false;
  bool seen_root_ = false;
  Totals totals_;
  char data_[kBufferBytes];
};

}  // namespace

int unpack(const char* path, const char* name) {
  static Unpacker unpacker;
  return unpacker.run(path, name);
}

}  // namespace exechost::guest::files
