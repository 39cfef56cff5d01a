#include "core/keeper/shell/state.hpp"

#include <climits>
#include <vector>

namespace exechost::keeper::shell {
namespace {

// kind, folder, variables, functions, attributes, shopts, options, "end"
constexpr std::size_t kParts = 8;

// What stands before each NUL; what follows the last one is not complete.
std::vector<std::string_view> parts_of(std::string_view bytes) {
  std::vector<std::string_view> parts;
  for (std::size_t end = bytes.find('\0'); end != std::string_view::npos; end = bytes.find('\0')) {
    parts.push_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return parts;
}

// As pwd prints it; empty when it can't be one.
std::string_view folder_in(std::string_view printed) {
  if (!printed.ends_with('\n')) return {};
  printed.remove_suffix(1);
  return printed.starts_with('/') && printed.size() < PATH_MAX ? printed : std::string_view();
}

}  // namespace

void Handed::take(std::string_view bytes) {
  if (too_large_) return;
  if (bytes_.size() + bytes.size() <= kMaxStateBytes) {
    bytes_ += bytes;
    return;
  }
  too_large_ = true;
  bytes_.clear();
  bytes_.shrink_to_fit();
}

std::optional<State> Handed::state() const {
  std::optional<State> state;
  const auto parts = parts_of(bytes_);
  for (std::size_t i = 0; i + kParts < parts.size(); ++i) {
    const auto* part = &parts[i + 1];
    const bool bash = part[0] == "bash";
    if (parts[i] != "exechost" || (!bash && part[0] != "sh") || part[7] != "end") continue;
    state = State{bash,
                  std::string(folder_in(part[1])),
                  std::string(part[2]),
                  std::string(part[3]),
                  std::string(part[4]),
                  std::string(part[5]),
                  std::string(part[6])};
    i += kParts;
  }
  return state;
}

std::optional<std::string> Handed::other_folder() const {
  const auto parts = parts_of(bytes_);
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    // Before the script began, so before any state.
    if (parts[i] == "exechost") break;
    const std::string_view folder = parts[i] == "folder" ? folder_in(parts[i + 1]) : std::string_view();
    if (!folder.empty()) return std::string(folder);
  }
  return std::nullopt;
}

}  // namespace exechost::keeper::shell
