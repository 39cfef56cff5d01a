#include "tests/support/tree.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <set>

#include "tests/support/temp_folder.hpp"

namespace exechost::test {
namespace {

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ull;
  }
  return hash;
}

std::string describe(const std::string& path, Times times) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return "gone";
  std::string common = fmt::format("mode {:o} owner {}:{}", status.st_mode, status.st_uid, status.st_gid);
  if (S_ISLNK(status.st_mode)) return common + " link to " + std::filesystem::read_symlink(path).string();
  if (!S_ISREG(status.st_mode)) return common;
  std::string line =
      fmt::format("{} links {} size {} hash {:016x}", common, status.st_nlink, status.st_size, fnv1a(read_file(path)));
  if (times == Times::compare) line += fmt::format(" time {}.{:09}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  return line;
}

}  // namespace

Tree describe_tree(const std::string& root, Times times) {
  Tree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    tree[entry.path().string().substr(root.size() + 1)] = describe(entry.path().string(), times);
  }
  return tree;
}

std::vector<std::string> changed_paths(const Tree& before, const Tree& after) {
  std::set<std::string> changed;
  for (const auto& [path, description] : before) {
    const auto found = after.find(path);
    if (found == after.end() || found->second != description) changed.insert(path);
  }
  for (const auto& [path, description] : after) {
    if (!before.contains(path)) changed.insert(path);
  }
  return {changed.begin(), changed.end()};
}

}  // namespace exechost::test
