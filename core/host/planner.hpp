// From a request to a plan: settings, plugins, facts, probes, and the pure planning over them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/host/context.hpp"
#include "core/host/plugin_catalog.hpp"
#include "core/host/probe_cache.hpp"
#include "core/host/settings_cache.hpp"
#include "core/plan/facts.hpp"
#include "core/plan/facts_cache.hpp"
#include "core/plan/plan.hpp"
#include "core/settings/settings.hpp"
#include "exechost/failure.hpp"
#include "exechost/request.hpp"

namespace exechost::host {

// The settings of one request, and the plugins they were checked against.
struct Resolved {
  std::shared_ptr<const settings::Settings> settings;
  PluginCatalog::List plugins;
};

// Everything a plan is computed from, but the request itself.
struct Prepared {
  std::shared_ptr<const settings::Settings> settings;
  std::vector<plan::BackendFacts> backends;
  std::shared_ptr<const plan::Facts> facts;
};

// Safe to use from any thread but the reactor's: it reads files and waits for probes.
class Planner {
 public:
  Planner(const Context& context, PluginCatalog& catalog, ProbeCache& probes)
      : context_(context), catalog_(catalog), probes_(probes) {}

  // Failures have phase plan.
  Result<Resolved> resolve(const Request& request) const;
  Result<Prepared> prepare(const Request& request) const;
  settings::Locations locations(const Request& request) const;

 private:
  std::string project_dir(const Request& request) const;
  std::vector<plan::BackendFacts> backend_facts(const Resolved& resolved) const;

  const Context& context_;
  PluginCatalog& catalog_;
  ProbeCache& probes_;
  mutable SettingsCache settings_;
  mutable plan::FactsCache facts_;
};

// How the keeper is told which plugin to use.
keeper::PluginChoice plugin_choice(const settings::Settings& settings, const std::string& id,
                                   const std::string& library);

}  // namespace exechost::host
