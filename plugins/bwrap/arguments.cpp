#include "arguments.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

namespace exechost::bwrap {
namespace {

using nlohmann::json;

const json& member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw std::invalid_argument(std::string("open document without \"") + name + "\"");
  return *found;
}

std::string text(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_string()) throw std::invalid_argument(std::string("open document: \"") + name + "\" is not a string");
  return value.get<std::string>();
}

std::string absolute(const json& object, const char* name) {
  std::string path = text(object, name);
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    throw std::invalid_argument(std::string("open document: \"") + name + "\" is not an absolute path");
  }
  return path;
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.size() > 1;
  return path.size() > folder.size() && path.substr(0, folder.size()) == folder && path[folder.size()] == '/';
}

// True when something is mounted inside the folder, which must then stay passable.
bool has_deeper_entry(const json& view, const std::string& folder) {
  for (const json& entry : view) {
    if (is_below(entry.value("path", ""), folder)) return true;
  }
  return false;
}

// Where /proc holds the kernel's settings instead of processes. bwrap makes such folders read-only only
// where they look writable to it, which /proc/sys never does: a folder of mode 0555 whose files the
// kernel lets the real root write by user id alone, capabilities or not, core_pattern included.
constexpr std::array<std::string_view, 6> kKernelSettings{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus",
                                                          "/proc/fs",  "/proc/pressure"};

class Renderer {
 public:
  Renderer(const json& view, const DescriptorNumbers& numbers) : view_(view), numbers_(numbers) {}

  void add(std::initializer_list<std::string_view> options) {
    for (const std::string_view option : options) options_.emplace_back(option);
  }

  void view_entry(const json& entry) {
    const std::string path = absolute(entry, "path");
    const std::string access = text(entry, "access");
    const std::string source = entry.contains("source") ? absolute(entry, "source") : path;
    if (access == "ro") {
      add({"--ro-bind", source, path});
    } else if (access == "rw") {
      add({"--bind", source, path});
    } else if (access == "private") {
      // A folder everybody may write to on any system keeps the sticky bit, so that programs that
      // check for it are content.
      const bool shared = path == "/tmp" || path == "/var/tmp" || path == "/dev/shm";
      add({"--perms", shared ? "1777" : "0755"});
      if (entry.contains("size")) add({"--size", std::to_string(entry.at("size").get<std::uint64_t>())});
      add({"--tmpfs", path});
    } else if (access == "hidden") {
      // Mode 0: not even listable. With something shown inside it must be passable, so execute only.
      add({"--perms", has_deeper_entry(view_, path) ? "0111" : "0000", "--size", "65536", "--tmpfs", path});
      remount_read_only_.push_back(path);
    } else if (access == "masked") {
      if (masks_ == kMaxMasks) throw std::invalid_argument("open document: more than 240 masked files");
      add({"--perms", "0000", "--ro-bind-data", std::to_string(numbers_.first_mask + static_cast<int>(masks_)), path});
      ++masks_;
    } else {
      throw std::invalid_argument("open document: unknown access \"" + access + "\" of " + path);
    }
    // bwrap's own /proc and /dev go on the root before anything that lies below them.
    if (path == "/") {
      add({"--proc", "/proc", "--dev", "/dev"});
      for (const std::string_view settings : kKernelSettings) add({"--ro-bind-try", settings, settings});
    }
  }

  // Mount points inside a hidden folder have to be made before it becomes read-only.
  void seal_hidden_folders() {
    for (const std::string& path : remount_read_only_) add({"--remount-ro", path});
  }

  std::vector<std::string> take_options() { return std::move(options_); }
  std::size_t masks() const { return masks_; }

 private:
  const json& view_;
  const DescriptorNumbers& numbers_;
  std::vector<std::string> options_;
  std::vector<std::string> remount_read_only_;
  std::size_t masks_ = 0;
};

}  // namespace

Rendered render(const json& document, const DescriptorNumbers& numbers) {
  const json& view = member(document, "view");
  if (!view.is_array() || view.empty()) throw std::invalid_argument("open document: \"view\" is not a list of paths");
  const std::string network = text(member(document, "network"), "mode");
  const json& init = member(document, "init");

  Renderer renderer(view, numbers);
  renderer.add({"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"});
  // Anything that isn't the full network gets none: filtering is the core's job, on top of nothing.
  if (network != "full") renderer.add({"--unshare-net"});
  // No --die-with-parent: a bwrap killed between clone(2) and its word to the child leaves that child
  // waiting for ever. The guest ends when its control socket closes, however the keeper died.
  renderer.add({"--hostname", "sandbox", "--new-session", "--as-pid-1", "--clearenv"});
  // The guest needs two for its own first steps, to cut the mounts off from the host's and to empty the
  // bounding set; it gives up both, for good, before it starts anything.
  renderer.add({"--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"});
  for (const json& entry : view) renderer.view_entry(entry);

  Rendered rendered;
  rendered.init = absolute(init, "target");
  renderer.add({"--ro-bind", absolute(init, "source"), rendered.init});
  renderer.seal_hidden_folders();
  renderer.add({"--chdir", "/"});

  rendered.mask_count = renderer.masks();
  rendered.options = renderer.take_options();
  rendered.command = {"--args", std::to_string(numbers.arguments), "--json-status-fd", std::to_string(numbers.status),
                      "--"};
  return rendered;
}

}  // namespace exechost::bwrap
