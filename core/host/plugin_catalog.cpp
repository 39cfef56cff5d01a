#include "core/host/plugin_catalog.hpp"

namespace exechost::host {

PluginCatalog::List PluginCatalog::find(const std::vector<std::string>& folders) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!list_ || folders != folders_ || now - looked_ > kFresh) {
    list_ = std::make_shared<const std::vector<plugin::Found>>(plugin::find_plugins(folders));
    folders_ = folders;
    looked_ = now;
  }
  return list_;
}

}  // namespace exechost::host
