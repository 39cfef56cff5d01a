#include "tests/support/temp_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/unique_fd.hpp"

namespace exechost::test {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

TempFolder::TempFolder(const std::string& parent, uid_t uid, gid_t gid) : path_(parent + "/exechost-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) fail("mkdtemp " + path_);
  if (chmod(path_.c_str(), 0755) != 0) fail("chmod " + path_);
  if (geteuid() == 0 && chown(path_.c_str(), uid, gid) != 0) fail("chown " + path_);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  // A folder without permissions would keep an ordinary user from removing what is below it.
  for (std::filesystem::recursive_directory_iterator it(path_, ignored), end; it != end; it.increment(ignored)) {
    if (ignored) break;
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) {
      std::filesystem::permissions(it->path(), std::filesystem::perms::owner_all, std::filesystem::perm_options::add,
                                   ignored);
    }
  }
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) fail("open " + path);
  std::string content;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0) fail("read " + path);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void write_file(const std::string& path, const std::string& content, mode_t mode) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (fd.get() < 0) fail("open " + path);
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = write(fd.get(), content.data() + done, content.size() - done);
    if (count < 0) fail("write " + path);
    done += static_cast<std::size_t>(count);
  }
  if (fchmod(fd.get(), mode) != 0) fail("chmod " + path);
}

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

}  // namespace exechost::test
