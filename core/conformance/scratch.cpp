#include "core/conformance/scratch.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace exechost::conformance {
namespace {

namespace fs = std::filesystem;

Failure no_scratch(const std::string& path, const std::string& reason) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "scratch";
  failure.message = fmt::format("\"{}\" can't be written: {}", path, reason);
  failure.hint = "name another folder for temporary files with TMPDIR";
  return failure;
}

}  // namespace

Result<Scratch> Scratch::make() {
  std::error_code error;
  const fs::path base = fs::canonical(fs::temp_directory_path(error), error);
  std::string pattern = (base / "exechost-conformance-XXXXXX").string();
  if (error) return unexpected(no_scratch(base.string(), error.message()));
  if (::mkdtemp(pattern.data()) == nullptr) return unexpected(no_scratch(pattern, std::strerror(errno)));
  Scratch scratch(pattern);
  for (const char* folder : {"workspace", "outside", "home", "run", "state", "cache", "config", "config/exechost"}) {
    const fs::path path = fs::path(pattern) / folder;
    fs::create_directory(path, error);
    if (!error) fs::permissions(path, fs::perms::owner_all, error);
    if (error) return unexpected(no_scratch(path.string(), error.message()));
  }
  return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept : root_(std::exchange(other.root_, {})) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(root_, other.root_);
  return *this;
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

std::map<std::string, std::string> Scratch::environment() const {
  return {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          {"HOME", root_ + "/home"},
          {"XDG_RUNTIME_DIR", root_ + "/run"},
          {"XDG_STATE_HOME", root_ + "/state"},
          {"XDG_CACHE_HOME", root_ + "/cache"},
          {"XDG_CONFIG_HOME", root_ + "/config"}};
}

Result<void> write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) return unexpected(no_scratch(path, "the file can't be made"));
  return {};
}

std::string read_file(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

}  // namespace exechost::conformance
