#include "core/host/planner.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/gateway/statement.hpp"
#include "core/host/request_overrides.hpp"
#include "core/node/statement.hpp"

namespace exechost::host {
namespace {

using nlohmann::json;

std::vector<std::string> text_list(const json& value) {
  std::vector<std::string> list;
  if (!value.is_array()) return list;
  for (const json& item : value) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

// A plugin's own settings can only be checked with its manifest, and where the manifests are is a
// setting. So the folders are looked up before anything is checked: the strongest document that
// names any, which then is checked like everything else.
std::vector<std::string> named_plugin_folders(const settings::Sources& sources) {
  const json* strongest = nullptr;
  settings::Scope scope = settings::Scope::built_in;
  const auto look = [&](const json& values, settings::Scope of) {
    const auto group = values.find("plugins");
    if (group == values.end() || !group->is_object()) return;
    const auto folders = group->find("directories");
    if (folders == group->end() || of < scope) return;
    strongest = &*folders;
    scope = of;
  };
  for (const settings::Document& document : sources.files) look(document.values, document.scope);
  look(sources.request, settings::Scope::request);
  return strongest == nullptr ? std::vector<std::string>{} : text_list(*strongest);
}

std::vector<std::string> all_folders(const Context& context, const std::vector<std::string>& named) {
  std::vector<std::string> folders;
  if (context.installation) folders = context.installation->plugin_folders;
  folders.insert(folders.end(), named.begin(), named.end());
  return folders;
}

// Programs that backends are told to start (bwrap itself): whoever changes one of them decides how
// the next command is isolated.
std::vector<std::string> backend_programs(const settings::Settings& settings, const PluginCatalog::List& plugins) {
  std::vector<std::string> programs;
  for (const plugin::Found& found : *plugins) {
    if (!found.manifest || found.problem) continue;
    for (const json& value : settings.backend_settings(found.id)) {
      if (!value.is_string()) continue;
      const auto path = value.get<std::string>();
      struct stat status {};
      const bool is_program = path.starts_with('/') && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                              (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
      if (is_program) programs.push_back(path);
    }
  }
  return programs;
}

bool is_candidate(const settings::Settings& settings, const std::string& id) {
  if (settings.at("tier") == "node") return id == plan::kLocalBackend;
  if (settings.at("backend") == id) return true;
  const auto fallback = text_list(settings.at("fallback"));
  return std::find(fallback.begin(), fallback.end(), id) != fallback.end();
}

}  // namespace

keeper::PluginChoice plugin_choice(const settings::Settings& settings, const std::string& id,
                                   const std::string& library) {
  keeper::PluginChoice choice;
  choice.id = id;
  choice.library = library;
  const json& pinned = settings.at("plugins.pinned");
  if (pinned.is_object() && pinned.contains(id) && pinned.at(id).is_string()) {
    choice.pinned_sha256 = pinned.at(id).get<std::string>();
    const settings::Scope scope = settings.origin("plugins.pinned." + id).scope;
    choice.pinned_by_administrator = scope == settings::Scope::system || scope == settings::Scope::managed;
  }
  choice.settings = settings.backend_settings(id);
  return choice;
}

std::string Planner::project_dir(const Request& request) const {
  if (request.workspace) return *request.workspace;
  return context_.workspace.empty() ? context_.process_cwd : context_.workspace;
}

settings::Locations Planner::locations(const Request& request) const {
  return {context_.system_dir, context_.user_dir, project_dir(request)};
}

Result<Resolved> Planner::resolve(const Request& request) const {
  auto overrides = request_overrides(request);
  if (!overrides) return unexpected(overrides.error());
  settings::Sources sources;
  sources.environment = context_.environment;
  sources.request = std::move(*overrides);
  sources.request_sources = request.settings_origins;
  settings::Locations where = locations(request);
  // The project's file is in the workspace, which other settings may name: then once more.
  for (int round = 0;; ++round) {
    auto files = settings::read_files(where);
    if (!files) return unexpected(files.error());
    sources.files = std::move(*files);
    Resolved resolved;
    resolved.plugins = catalog_.find(all_folders(context_, named_plugin_folders(sources)));
    auto settled = settings_.resolve(sources, resolved.plugins);
    if (!settled) return unexpected(settled.error());
    resolved.settings = std::move(*settled);
    const json& workspace = resolved.settings->at("workspace.path");
    const std::string named = workspace.is_string() ? workspace.get<std::string>() : std::string();
    if (round > 0 || named.empty() || named == where.project_dir) return resolved;
    where.project_dir = named;
  }
}

std::vector<plan::BackendFacts> Planner::backend_facts(const Resolved& resolved) const {
  if (resolved.settings->at("tier") == "gateway") {
    plan::BackendFacts inside;
    inside.id = plan::kGatewayBackend;
    inside.statement = gateway::statement();
    inside.probe = gateway::probe();
    return {std::move(inside)};
  }
  std::vector<plan::BackendFacts> backends;
  std::vector<std::size_t> asked;
  std::vector<keeper::PluginChoice> choices;
  const std::string local(plan::kLocalBackend);
  if (is_candidate(*resolved.settings, local)) {
    plan::BackendFacts facts;
    facts.id = local;
    facts.statement = node::statement();
    asked.push_back(backends.size());
    choices.push_back(plugin_choice(*resolved.settings, local, {}));
    backends.push_back(std::move(facts));
  }
  for (const plugin::Found& found : *resolved.plugins) {
    if (found.id == local) continue;  // no plugin is the node tier
    plan::BackendFacts facts;
    facts.id = found.id;
    facts.library = found.library;
    facts.library_sha256 = found.sha256;
    facts.unusable = found.problem;
    if (found.manifest) facts.statement = found.manifest->statement;
    if (!facts.unusable && is_candidate(*resolved.settings, found.id)) {
      asked.push_back(backends.size());
      choices.push_back(plugin_choice(*resolved.settings, found.id, found.library));
    }
    backends.push_back(std::move(facts));
  }
  auto outcomes = probes_.get(choices);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    plan::BackendFacts& facts = backends[asked[i]];
    if (outcomes[i]) {
      facts.probe = std::move(*outcomes[i]);
    } else {
      facts.unusable = std::move(outcomes[i].error());
    }
  }
  return backends;
}

Result<Prepared> Planner::prepare(const Request& request) const {
  if (!context_.installation) return unexpected(context_.installation.error());
  auto resolved = resolve(request);
  if (!resolved) return unexpected(resolved.error());
  plan::FactQuery query;
  query.workspace = context_.workspace;
  query.process_cwd = context_.process_cwd;
  query.process_cwd_device = context_.process_cwd_device;
  query.process_cwd_inode = context_.process_cwd_inode;
  query.cwd = request.cwd;
  query.own_paths = context_.own_paths();
  for (const std::string& folder : text_list(resolved->settings->at("plugins.directories")))
    query.own_paths.push_back(folder);
  for (std::string& program : backend_programs(*resolved->settings, resolved->plugins))
    query.own_paths.push_back(std::move(program));
  query.own_private_paths = context_.own_private_paths();
  query.environment = context_.environment;
  // Watching folders is for the next request.
  auto facts = context_.single_run ? plan::FactsCache::look(*resolved->settings, query)
                                   : facts_.gather(resolved->settings, query);
  if (!facts) return unexpected(facts.error());
  Prepared prepared;
  prepared.backends = backend_facts(*resolved);
  prepared.settings = std::move(resolved->settings);
  prepared.facts = std::move(*facts);
  return prepared;
}

}  // namespace exechost::host
