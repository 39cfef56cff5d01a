#include "tests/support/scene.hpp"
#include "exechost_test_paths.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace exechost::test {
namespace {

constexpr std::array<std::pair<Place, std::string_view>, 3> kPlaces{
    {{Place::var_tmp, "var_tmp"}, {Place::home, "home"}, {Place::srv, "srv"}}};

bool owned_folder(const std::string& path, uid_t uid) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid;
}

}  // namespace

std::string test_prefix() {
  const char* prefix = std::getenv("EXECHOST_TEST_PREFIX");
  return prefix != nullptr && *prefix != '\0' ? prefix : EXECHOST_BUILD_PREFIX;
}

std::string probe_program() { return EXECHOST_PROBE; }

std::optional<Place> place_from(std::string_view name) {
  for (const auto& [place, text] : kPlaces) {
    if (text == name) return place;
  }
  return std::nullopt;
}

std::string_view to_string(Place place) {
  for (const auto& [known, text] : kPlaces) {
    if (known == place) return text;
  }
  return "?";
}

std::unique_ptr<Scene> Scene::make(std::string_view label, Place place, std::string& why_not) {
  const auto account = find_account(label);
  if (!account) {
    why_not = "only root can run the product as root";
    return nullptr;
  }
  switch (place) {
    case Place::var_tmp: return std::make_unique<Scene>(*account, "/var/tmp");
    case Place::home:
      if (!owned_folder(account->home, account->uid)) {
        why_not = "the account " + account->name + " has no home folder of its own";
        return nullptr;
      }
      return std::make_unique<Scene>(*account, account->home);
    case Place::srv:
      if (geteuid() != 0) {
        why_not = "only root can make a folder in /srv";
        return nullptr;
      }
      return std::make_unique<Scene>(*account, "/srv");
  }
  return nullptr;
}

Scene::Scene(Account account, const std::string& parent)
    : account_(std::move(account)), base_(parent, account_.uid, account_.gid) {
  for (const char* name : {"ws", "out", "home", "xdg", "xdg/run", "xdg/state", "xdg/cache"}) folder(name);
  std::filesystem::permissions(runtime_folder(), std::filesystem::perms::owner_all);
}

void Scene::give_to_account(const std::string& path) const {
  if (geteuid() == 0 && lchown(path.c_str(), account_.uid, account_.gid) != 0) {
    throw std::system_error(errno, std::generic_category(), "lchown " + path);
  }
}

void Scene::folder(const std::string& relative) const {
  std::string path = base();
  for (const auto& part : std::filesystem::path(relative)) {
    path += "/" + part.string();
    if (std::filesystem::create_directory(path)) give_to_account(path);
  }
}

void Scene::file(const std::string& relative, const std::string& content, mode_t mode) const {
  const auto parent = std::filesystem::path(relative).parent_path();
  if (!parent.empty()) folder(parent.string());
  const std::string path = base() + "/" + relative;
  write_file(path, content, mode);
  give_to_account(path);
  // chown takes away the set-user-id bit.
  std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
}

void Scene::link(const std::string& relative, const std::string& target) const {
  const auto parent = std::filesystem::path(relative).parent_path();
  if (!parent.empty()) folder(parent.string());
  std::filesystem::create_symlink(target, base() + "/" + relative);
  give_to_account(base() + "/" + relative);
}

std::string Scene::install_probe() const {
  file("ws/.probe", read_file(probe_program()), 0755);
  return workspace() + "/.probe";
}

ProgramOptions Scene::cli(std::vector<std::string> arguments) const {
  ProgramOptions options;
  options.argv = {test_prefix() + "/bin/exechost"};
  for (auto& argument : arguments) options.argv.push_back(std::move(argument));
  options.env = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                 {"HOME", home()},
                 {"LANG", "C.UTF-8"},
                 {"USER", account_.name},
                 {"XDG_RUNTIME_DIR", runtime_folder()},
                 {"XDG_STATE_HOME", state_folder()},
                 {"XDG_CACHE_HOME", base() + "/xdg/cache"}};
  // Sanitizer options of the test run also hold for the product.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) options.env[name] = value;
  }
  options.cwd = workspace();
  options.as = account_;
  return options;
}

}  // namespace exechost::test
