#include "core/host/keeper_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace exechost::host {
namespace {

bool is_in(const std::string& file, const std::string& folder) {
  return file.size() > folder.size() && file.starts_with(folder) && file[folder.size()] == '/';
}

constexpr const char* kSharedKeeper = "shared";

// One for each library of a third party: the id for people, the rest for those of the same id.
std::string detached_name(const keeper::PluginChoice& plugin) {
  return fmt::format("{}-{:016x}", plugin.id, std::hash<std::string>{}(plugin.library));
}

}  // namespace

KeeperService::KeeperService(const Context& context, Reactor& reactor) : context_(context), reactor_(reactor) {}
KeeperService::~KeeperService() = default;

// What came with ExecHost, and what the administrator has named by its hash, is taken for what it is.
bool KeeperService::runs_alone(const keeper::PluginChoice& plugin) const {
  if (plugin.library.empty() || plugin.pinned_by_administrator) return false;
  const auto& folders = context_.installation->plugin_folders;
  return std::none_of(folders.begin(), folders.end(),
                      [&](const std::string& folder) { return is_in(plugin.library, folder); });
}

KeeperSlot& KeeperService::slot(const keeper::PluginChoice& plugin, bool named) {
  const bool alone = runs_alone(plugin);
  const std::lock_guard lock(mutex_);
  auto& slot = (named ? named_slots_ : slots_)[alone ? plugin.library : std::string()];
  if (!slot) {
    KeeperStart how;
    how.placement = alone ? KeeperPlacement::child : context_.placement;
    how.program = context_.installation->keeper_program;
    how.options.ledger_folder = context_.ledger_dir();
    how.options.guest_path = context_.installation->guest_program;
    if (alone) how.plugin = plugin.id;
    if (named) how.detached = {context_.keepers_dir(), alone ? detached_name(plugin) : std::string(kSharedKeeper)};
    slot = std::make_unique<KeeperSlot>(reactor_, std::move(how));
  }
  return *slot;
}

Result<std::shared_ptr<environment::KeeperPort>> KeeperService::port(const keeper::PluginChoice& plugin, bool named) {
  return slot(plugin, named).port();
}

int KeeperService::pid(const keeper::PluginChoice& plugin) { return slot(plugin, false).pid(); }

}  // namespace exechost::host
