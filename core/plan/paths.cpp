#include "core/plan/paths.hpp"

#include <algorithm>
#include <filesystem>

namespace exechost::plan {

std::string join_path(std::string_view folder, std::string_view name) {
  std::string joined(folder);
  if (joined.empty() || joined.back() != '/') joined += '/';
  joined += name;
  return joined;
}

bool is_normal(std::string_view path) {
  if (path == "/") return true;
  if (!path.starts_with('/') || path.ends_with('/')) return false;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (component.empty() || component == "." || component == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string expand_path(std::string_view path, std::string_view base, std::string_view home) {
  std::string full;
  if (path == "~" || path.starts_with("~/")) {
    // Without a home there is nothing "~" could mean; it must not come to mean "/".
    full = join_path(home.empty() ? "/nonexistent" : home, path.substr(1));
  } else if (path.starts_with('/')) {
    full = std::string(path);
  } else {
    full = join_path(base, path);
  }
  if (is_normal(full)) return full;
  std::string normal = std::filesystem::path(full).lexically_normal().string();
  // POSIX leaves "//x" to the implementation; on Linux it is "/x".
  while (normal.size() > 1 && normal[0] == '/' && normal[1] == '/') normal.erase(0, 1);
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal.empty() ? "/" : normal;
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.size() > 1;
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool is_at_or_below(std::string_view path, std::string_view folder) { return path == folder || is_below(path, folder); }

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

std::size_t depth_of(std::string_view path) {
  return path == "/" ? 0 : static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

}  // namespace exechost::plan
