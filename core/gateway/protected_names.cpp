#include "core/gateway/protected_names.hpp"

#include <algorithm>

namespace exechost::gateway {
namespace {

char folded(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte; }

bool equal_folded(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return folded(x) == folded(y); });
}

// `name` is the beginning of `rest`, up to its end or a slash.
bool begins_with(std::string_view rest, std::string_view name) {
  return rest.size() >= name.size() && equal_folded(rest.substr(0, name.size()), name) &&
         (rest.size() == name.size() || rest[name.size()] == '/');
}

}  // namespace

ProtectedNames default_protected_names() {
  return {// All of git's own: hooks and configuration run programs, and as a file it names the folder with both.
          ".git", ".gitconfig", ".gitmodules",
          // Shells, direnv and ripgrep when they start.
          ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv",
          ".zlogin", ".zlogout", ".envrc", ".ripgreprc",
          // Editors' tasks, agents' commands and servers, ExecHost's own project settings.
          ".vscode", ".idea", ".claude/commands", ".claude/agents", ".claude/settings.json",
          ".claude/settings.local.json", ".codex", ".agents", ".mcp.json", ".exechost.json",
          // Hooks that a package's install step puts in place.
          ".husky"};
}

bool is_protected(std::string_view path, const ProtectedNames& names) {
  for (std::size_t start = 0; start < path.size();) {
    const std::string_view rest = path.substr(start);
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return begins_with(rest, name); })) {
      return true;
    }
    const std::size_t slash = path.find('/', start);
    if (slash == std::string_view::npos) break;
    start = slash + 1;
  }
  return false;
}

}  // namespace exechost::gateway
