#include "core/host/installation.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/plugin/trust.hpp"

namespace exechost::host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGuest = "libexec/exechost/exechost-guest";
constexpr const char* kKeeper = "libexec/exechost/exechost-keeper";
constexpr const char* kPlugins = "lib/exechost/plugins";
// PREFIX/bin, PREFIX/lib and PREFIX/lib/TRIPLET are the deepest places that code is installed to.
constexpr int kLevelsUp = 3;

// The file that this code was loaded from: the library, or the program it is linked into.
fs::path own_file() {
  std::error_code error;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) != 0 && info.dli_fname != nullptr) {
    fs::path file = fs::canonical(info.dli_fname, error);
    // Of the main program it is argv[0], which may be anything.
    if (!error && file.filename().string().find(".so") != std::string::npos) return file;
  }
  return fs::read_symlink("/proc/self/exe", error);
}

Failure missing(const std::string& what, const std::string& hint) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "installation";
  failure.message = what;
  failure.hint = hint;
  return failure;
}

}  // namespace

Result<Installation> find_installation(const std::string& prefix) {
  std::error_code error;
  fs::path found = prefix;
  if (prefix.empty()) {
    fs::path folder = own_file().parent_path();
    for (int level = 0; level < kLevelsUp && folder.has_relative_path(); ++level) {
      folder = folder.parent_path();
      if (fs::exists(folder / kGuest, error)) {
        found = folder;
        break;
      }
    }
    if (found.empty()) {
      return unexpected(missing(fmt::format("exechost-guest was not found near {}", own_file().string()),
                                "install ExecHost completely, or name its prefix in HostOptions"));
    }
  }
  Installation installation;
  installation.prefix = found.string();
  installation.guest_program = (found / kGuest).string();
  installation.keeper_program = (found / kKeeper).string();
  installation.plugin_folders = {(found / kPlugins).string()};
  // What will be process 1 of every environment must be ours, like everything that is obeyed.
  if (const auto trusted = plugin::open_trusted(installation.guest_program); !trusted) {
    Failure failure = trusted.error();
    failure.phase = Phase::plan;
    failure.step = "installation";
    return unexpected(std::move(failure));
  }
  return installation;
}

}  // namespace exechost::host
