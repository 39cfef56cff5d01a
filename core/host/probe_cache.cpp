#include "core/host/probe_cache.hpp"

#include <fmt/format.h>

#include <utility>

namespace exechost::host {

namespace {

std::string key_of(const keeper::PluginChoice& choice) {
  return nlohmann::json{choice.id, choice.library, choice.pinned_sha256, choice.settings}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::vector<ProbeCache::Outcome> ProbeCache::get(const std::vector<keeper::PluginChoice>& choices) {
  std::vector<Key> keys;
  std::vector<Entry> entries;
  for (const auto& choice : choices) {
    keys.push_back(key_of(choice));
    entries.push_back(begin(keys.back(), choice));
  }
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Key& key = keys[i];
    Outcome outcome = wait(key, entries[i], choices[i].id);
    // A probe has no side effects, so that one lost with its keeper is simply made again.
    if (!outcome && outcome.error().kind == FailureKind::plugin_crashed) {
      outcome = wait(key, begin(key, choices[i]), choices[i].id);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

ProbeCache::Entry ProbeCache::begin(const Key& key, const keeper::PluginChoice& choice) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const auto found = entries_.find(key);
  if (found != entries_.end() && now - found->second.made < kFresh) return found->second;
  Entry entry{prober_(choice).share(), now};
  entries_.insert_or_assign(key, entry);
  return entry;
}

ProbeCache::Outcome ProbeCache::wait(const Key& key, const Entry& entry, const std::string& backend) {
  Outcome outcome = [&]() -> Outcome {
    if (entry.outcome.wait_for(kPatience) == std::future_status::ready) return entry.outcome.get();
    Failure failure;
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::plan;
    failure.step = "probe";
    failure.backend = backend;
    failure.message = fmt::format("backend {} did not answer its probe within {} s", backend, kPatience.count());
    failure.hint = "try again, or choose another backend";
    return unexpected(std::move(failure));
  }();
  // Only good news is remembered: what is missing may be there the next time.
  if (!outcome || !outcome->ready) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.made == entry.made) entries_.erase(found);
  }
  return outcome;
}

}  // namespace exechost::host
