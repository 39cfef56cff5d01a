#include "core/conformance/waiting.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <thread>

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;

std::uintmax_t size_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

bool becomes_true(const std::function<bool()>& is_so, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

bool is_beating(const std::string& path) { return size_of(path) > 0; }

bool beats_on(const std::string& path) {
  const std::uintmax_t before = size_of(path);
  return becomes_true([&] { return size_of(path) > before; }, 500ms);
}

std::string beating(const std::string& path) { return fmt::format("while :; do echo >> '{}'; sleep 0.02; done", path); }

}  // namespace exechost::conformance
