// Which folders of a home hold tools rather than data.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "core/base/utf8.hpp"
#include "core/plan/machine.hpp"
#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

constexpr std::size_t kMaxPathEntries = 256;
constexpr std::size_t kMaxPrograms = 1024;  // looked at per folder of PATH
constexpr std::size_t kMaxToolchains = 256;

struct Variable {
  std::string_view name;
  std::string_view below;  // the part that holds tools; empty: all of it
};
// Variables of version managers and toolchains, each naming one folder.
constexpr std::array kVariables{Variable{"PYENV_ROOT", ""},
                                Variable{"NVM_DIR", ""},
                                Variable{"NVM_BIN", ""},
                                Variable{"RBENV_ROOT", ""},
                                Variable{"NODENV_ROOT", ""},
                                Variable{"GOENV_ROOT", ""},
                                Variable{"JENV_ROOT", ""},
                                Variable{"rvm_path", ""},
                                Variable{"CARGO_HOME", "bin"},
                                Variable{"RUSTUP_HOME", ""},
                                Variable{"GOPATH", "bin"},
                                Variable{"GOBIN", ""},
                                Variable{"GOROOT", ""},
                                Variable{"JAVA_HOME", ""},
                                Variable{"SDKMAN_DIR", "candidates"},
                                Variable{"VOLTA_HOME", ""},
                                Variable{"ASDF_DIR", ""},
                                Variable{"ASDF_DATA_DIR", ""},
                                Variable{"MISE_DATA_DIR", ""},
                                Variable{"FNM_DIR", ""},
                                Variable{"FNM_MULTISHELL_PATH", ""},
                                Variable{"N_PREFIX", ""},
                                Variable{"NPM_CONFIG_PREFIX", ""},
                                Variable{"npm_config_prefix", ""},
                                Variable{"PNPM_HOME", ""},
                                Variable{"BUN_INSTALL", ""},
                                Variable{"DENO_INSTALL", ""},
                                Variable{"VIRTUAL_ENV", ""},
                                Variable{"CONDA_PREFIX", ""},
                                Variable{"GHCUP_INSTALL_BASE_PREFIX", ".ghcup"},
                                Variable{"UV_PYTHON_INSTALL_DIR", ""},
                                Variable{"PIPX_HOME", ""},
                                Variable{"DOTNET_ROOT", ""}};

// Folders that hold far more than tools; never shown as a whole.
constexpr std::array<std::string_view, 8> kTooBroad{".config", ".local", ".local/share", ".local/state",
                                                    ".cache",  ".cargo", ".gradle",      ".m2"};

class Finder {
 public:
  Finder(const std::vector<std::string>& homes, const std::vector<std::string>& credentials)
      : homes_(homes), credentials_(credentials) {}

  // Notes a folder (or one program) when it, or what it leads to, is inside a home.
  bool add(const std::string& path, FileKind kind = FileKind::folder) {
    if (found_.size() >= kMaxToolchains || !is_valid_utf8(path)) return false;
    const PathFact fact = inspect_path(path);
    if (fact.kind != kind || !is_valid_utf8(fact.resolved)) return false;
    if (!inside_a_home(path) && !inside_a_home(fact.resolved)) return false;
    if (!acceptable(path) || !acceptable(fact.resolved)) return false;
    found_.insert(path);
    if (inside_a_home(fact.resolved)) found_.insert(fact.resolved);
    return true;
  }

  // A folder of PATH: the installation around it when there is one, and where its links lead.
  void add_program_folder(const std::string& path) {
    if (!add(path)) return;
    const PathFact fact = inspect_path(path);
    add_installation(fact.resolved);
    for (const std::string& name : names_in(fact.resolved, kMaxPrograms)) {
      const PathFact program = inspect_path(join_path(fact.resolved, name));
      if (!program.is_link || program.kind == FileKind::missing) continue;
      const std::string folder = parent_of(program.resolved);
      if (!folder.ends_with("/bin")) {
        // Whatever else is in that folder is nobody's tool.
        if (program.kind == FileKind::regular) add(program.resolved, FileKind::regular);
      } else if (add(folder)) {
        add_installation(folder);
      }
    }
  }

  std::vector<std::string> take() {
    // What lies below another one adds nothing, unless a link would be lost.
    std::vector<std::string> kept;
    for (const std::string& path : found_) {
      const bool covered =
          std::any_of(kept.begin(), kept.end(), [&](const std::string& other) { return is_below(path, other); });
      if (!covered) kept.push_back(path);
    }
    return kept;
  }

 private:
  bool inside_a_home(const std::string& path) const {
    return std::any_of(homes_.begin(), homes_.end(), [&](const std::string& home) { return is_below(path, home); });
  }

  bool acceptable(const std::string& path) const {
    for (const std::string& home : homes_) {
      if (is_at_or_below(home, path)) return false;
      for (const std::string_view name : kTooBroad) {
        if (path == join_path(home, name)) return false;
      }
    }
    return std::none_of(credentials_.begin(), credentials_.end(),
                        [&](const std::string& secret) { return is_at_or_below(path, secret); });
  }

  // PREFIX/bin beside PREFIX/lib is an installation: its programs need what is beside them.
  void add_installation(const std::string& folder) {
    if (!folder.ends_with("/bin")) return;
    const std::string prefix = parent_of(folder);
    const bool installation = inspect_path(join_path(prefix, "lib")).kind == FileKind::folder ||
                              inspect_path(join_path(prefix, "pyvenv.cfg")).kind == FileKind::regular;
    if (installation) add(prefix);
  }

  const std::vector<std::string>& homes_;
  const std::vector<std::string>& credentials_;
  std::set<std::string> found_;
};

std::vector<std::string> split(const std::string& list, std::size_t limit) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= list.size() && parts.size() < limit) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::string> find_toolchains(const std::map<std::string, std::string>& environment,
                                         const std::vector<std::string>& homes,
                                         const std::vector<std::string>& credentials) {
  Finder finder(homes, credentials);
  bool has_cargo = false;
  if (const auto path = environment.find("PATH"); path != environment.end()) {
    for (const std::string& entry : split(path->second, kMaxPathEntries)) {
      if (!entry.starts_with('/')) continue;
      const std::string folder = expand_path(entry, "/", "/");
      has_cargo = has_cargo || folder.ends_with("/.cargo/bin");
      finder.add_program_folder(folder);
    }
  }
  for (const Variable& variable : kVariables) {
    const auto found = environment.find(std::string(variable.name));
    if (found == environment.end()) continue;
    for (const std::string& value : split(found->second, kMaxPathEntries)) {  // GOPATH is a list
      if (value.starts_with('/')) finder.add(expand_path(variable.below, value, "/"));
    }
  }
  // The programs in ~/.cargo/bin are rustup's own and start what is in ~/.rustup.
  if (has_cargo && !environment.contains("RUSTUP_HOME")) {
    for (const std::string& home : homes) finder.add(join_path(home, ".rustup"));
  }
  return finder.take();
}

}  // namespace exechost::plan
