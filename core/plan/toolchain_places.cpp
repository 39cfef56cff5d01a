#include "core/plan/toolchain_places.hpp"

#include <algorithm>

namespace exechost::plan {
namespace {

using Variable = ToolchainVariable;

constexpr std::array kVariables{Variable{"PYENV_ROOT", "", {"bin/pyenv", "shims"}},
                                Variable{"NVM_DIR", "", {"nvm.sh", "versions/node"}},
                                Variable{"NVM_BIN", "", {"node"}},
                                Variable{"RBENV_ROOT", "", {"bin/rbenv", "shims"}},
                                Variable{"NODENV_ROOT", "", {"bin/nodenv", "shims"}},
                                Variable{"GOENV_ROOT", "", {"bin/goenv", "shims"}},
                                Variable{"JENV_ROOT", "", {"bin/jenv", "shims"}},
                                Variable{"rvm_path", "", {"scripts/rvm"}},
                                Variable{"CARGO_HOME", "bin", {"cargo", "rustup"}},
                                Variable{"RUSTUP_HOME", "", {"toolchains"}},
                                Variable{"GOPATH", "bin", {}},
                                Variable{"GOBIN", "", {}},
                                Variable{"GOROOT", "", {"bin/go"}},
                                Variable{"JAVA_HOME", "", {"bin/java"}},
                                Variable{"SDKMAN_DIR", "candidates", {"../bin/sdkman-init.sh"}},
                                Variable{"VOLTA_HOME", "", {"bin/volta", "tools/image"}},
                                Variable{"ASDF_DIR", "", {"asdf.sh", "bin/asdf"}},
                                Variable{"ASDF_DATA_DIR", "", {"shims", "installs"}},
                                Variable{"MISE_DATA_DIR", "", {"shims", "installs"}},
                                Variable{"FNM_DIR", "", {"node-versions"}},
                                Variable{"FNM_MULTISHELL_PATH", "", {"bin/node"}},
                                Variable{"N_PREFIX", "", {"bin/node", "n/versions"}},
                                Variable{"NPM_CONFIG_PREFIX", "", {"lib/node_modules"}},
                                Variable{"npm_config_prefix", "", {"lib/node_modules"}},
                                Variable{"PNPM_HOME", "", {"pnpm"}},
                                Variable{"BUN_INSTALL", "", {"bin/bun"}},
                                Variable{"DENO_INSTALL", "", {"bin/deno"}},
                                Variable{"VIRTUAL_ENV", "", {"pyvenv.cfg"}},
                                Variable{"CONDA_PREFIX", "", {"conda-meta"}},
                                Variable{"GHCUP_INSTALL_BASE_PREFIX", ".ghcup", {"bin/ghcup"}},
                                Variable{"UV_PYTHON_INSTALL_DIR", "", {".lock"}},
                                Variable{"PIPX_HOME", "", {"venvs"}},
                                Variable{"DOTNET_ROOT", "", {"dotnet"}}};

constexpr std::array kRoots{std::string_view{".pyenv"},
                            std::string_view{".nvm"},
                            std::string_view{".rbenv"},
                            std::string_view{".nodenv"},
                            std::string_view{".goenv"},
                            std::string_view{".jenv"},
                            std::string_view{".rvm"},
                            std::string_view{".rustup"},
                            std::string_view{".cargo/bin"},
                            std::string_view{".sdkman/candidates"},
                            std::string_view{".volta"},
                            std::string_view{".asdf"},
                            std::string_view{".local/share/mise"},
                            std::string_view{".local/share/fnm"},
                            std::string_view{".fnm"},
                            std::string_view{"n/n/versions"},
                            std::string_view{".npm-global"},
                            std::string_view{".local/lib/node_modules"},
                            std::string_view{".local/share/pnpm"},
                            std::string_view{".bun"},
                            std::string_view{".deno"},
                            std::string_view{".ghcup"},
                            std::string_view{".local/share/uv/python"},
                            std::string_view{".local/share/uv/tools"},
                            std::string_view{".local/share/pipx"},
                            std::string_view{".local/pipx"},
                            std::string_view{".dotnet"},
                            std::string_view{"miniconda3"},
                            std::string_view{"anaconda3"},
                            std::string_view{"miniforge3"},
                            std::string_view{"mambaforge"},
                            std::string_view{"micromamba"}};

constexpr std::array<std::string_view, 8> kBroad{".config", ".local", ".local/share", ".local/state",
                                                 ".cache",  ".cargo", ".gradle",      ".m2"};

constexpr std::array<std::string_view, 6> kProgramFolders{"bin", "sbin", "shims", "scripts", ".bin", "libexec"};

}  // namespace

std::span<const ToolchainVariable> toolchain_variables() { return kVariables; }
std::span<const std::string_view> version_manager_roots() { return kRoots; }
std::span<const std::string_view> broad_folders() { return kBroad; }

bool is_program_folder_name(std::string_view name) {
  return std::find(kProgramFolders.begin(), kProgramFolders.end(), name) != kProgramFolders.end();
}

}  // namespace exechost::plan
