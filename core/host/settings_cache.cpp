#include "core/host/settings_cache.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/capability.hpp"

namespace exechost::host {
namespace {

std::vector<settings::PluginSettings> schemas_of(const PluginCatalog::List& plugins) {
  // What is no plugin has no settings of its own either, and says so of one that is given.
  const nlohmann::json nothing{{"type", "object"}, {"additionalProperties", false}};
  std::vector<settings::PluginSettings> schemas{{std::string(plan::kLocalBackend), nothing},
                                                {std::string(plan::kGatewayBackend), nothing}};
  for (const plugin::Found& found : *plugins) {
    if (found.manifest && !found.problem) schemas.push_back({found.id, found.manifest->settings_schema});
  }
  return schemas;
}

bool same_files(const std::vector<settings::Document>& a, const std::vector<settings::Document>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const settings::Document& one, const settings::Document& other) {
                      return one.scope == other.scope && one.source == other.source && one.values == other.values;
                    });
}

}  // namespace

Result<std::shared_ptr<const settings::Settings>> SettingsCache::resolve(settings::Sources& sources,
                                                                         const PluginCatalog::List& plugins) {
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.plugins == plugins && entry.request == sources.request &&
          entry.request_sources == sources.request_sources && same_files(entry.files, sources.files)) {
        return entry.settings;
      }
    }
  }
  sources.plugins = schemas_of(plugins);
  auto settled = settings::resolve(sources);
  if (!settled) return unexpected(settled.error());
  auto shared = std::make_shared<const settings::Settings>(std::move(*settled));
  const std::lock_guard lock(mutex_);
  entries_.push_front({sources.files, sources.request, sources.request_sources, plugins, shared});
  if (entries_.size() > kKept) entries_.pop_back();
  return shared;
}

}  // namespace exechost::host
