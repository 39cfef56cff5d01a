#include "core/keeper/backends.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/keeper/failures.hpp"
#include "core/node/local_backend.hpp"
#include "core/plugin/manifest.hpp"

namespace exechost::keeper {
namespace {

Result<std::shared_ptr<const plugin::LoadedPlugin>> load(const PluginChoice& choice) {
  constexpr std::string_view kSuffix = ".so";
  if (!choice.library.ends_with(kSuffix)) {
    return unexpected(make_failure(FailureKind::unavailable, Phase::provision,
                                   fmt::format("the plugin \"{}\" does not end in .so", choice.library), "load"));
  }
  plugin::Found found;
  found.id = choice.id;
  found.library = choice.library;
  found.manifest_path = choice.library.substr(0, choice.library.size() - kSuffix.size()) + ".json";
  auto manifest = plugin::read_manifest(found.manifest_path);
  if (!manifest) return unexpected(manifest.error());
  found.manifest = std::move(*manifest);
  return plugin::load_plugin(found, choice.pinned_sha256);
}

}  // namespace

CallResult Backends::get(const PluginChoice& choice, const plugin::CallLimits& limits,
                         std::shared_ptr<Backend>& backend) {
  // Whatever library goes by that name: "local" is never one.
  const bool is_built_in = choice.id == plan::kLocalBackend;
  std::shared_ptr<Library> library;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = libraries_[is_built_in ? std::string() : choice.library + '\0' + choice.pinned_sha256];
    if (!slot) slot = std::make_shared<Library>();
    library = slot;
  }
  const std::lock_guard lock(library->mutex);
  if (is_built_in) return create(choice, &node::create_local_backend, limits, *library, backend);
  if (!library->plugin) {
    auto loaded = load(choice);
    if (!loaded) {
      loaded.error().backend = choice.id;
      return CallResult::failed(loaded.error());
    }
    library->plugin = std::move(*loaded);
  }
  const std::string loaded_id = plugin::from_eh(library->plugin->table()->id);
  if (loaded_id != choice.id) {
    return CallResult::failed(make_failure(
        FailureKind::unavailable, Phase::provision,
        fmt::format(R"(the plugin "{}" is "{}", not "{}")", choice.library, loaded_id, choice.id), "load"));
  }
  return create(choice, library->plugin->table()->create, limits, *library, backend);
}

CallResult Backends::create(const PluginChoice& choice, Create make, const plugin::CallLimits& limits, Library& library,
                            std::shared_ptr<Backend>& backend) {
  const std::string settings = choice.settings.dump();
  auto& slot = library.backends[settings];
  if (!slot) {
    const eh_backend* table = nullptr;
    CallResult result = call_plugin(choice.id, Phase::provision, limits, [&](const eh_call* call) {
      return make(services_.table(), plugin::to_eh(settings), call, &table);
    });
    if (result.status != ReplyStatus::ok) return result;
    if (!is_whole(table)) {
      Failure failure =
          make_failure(FailureKind::protocol_error, Phase::provision,
                       fmt::format("backend \"{}\" made a backend table with functions missing", choice.id), "create");
      failure.backend = choice.id;
      return CallResult::failed(std::move(failure));
    }
    slot = std::make_shared<Backend>(library.plugin, table, choice.id);
  }
  backend = slot;
  return {ReplyStatus::ok, {}, {}};
}

void Backends::clear() {
  std::map<std::string, std::shared_ptr<Library>> all;
  const std::lock_guard lock(mutex_);
  all.swap(libraries_);
}

}  // namespace exechost::keeper
