#include "core/plan/facts_cache.hpp"

#include <unistd.h>

#include <utility>

#include "core/plan/machine.hpp"

namespace exechost::plan {
namespace {

bool same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

FactsCache::Accounts FactsCache::look_at_accounts(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim, status.st_ctim};
}

bool FactsCache::same(const Accounts& one, const Accounts& other) {
  return one.device == other.device && one.inode == other.inode && one.size == other.size &&
         same_time(one.written, other.written) && same_time(one.changed, other.changed);
}

Result<std::shared_ptr<const Facts>> FactsCache::look(const settings::Settings& settings, const FactQuery& query,
                                                      PathWatch* watch) {
  auto facts = plan::gather(settings, query, watch);
  if (!facts) return unexpected(facts.error());
  return std::make_shared<const Facts>(std::move(*facts));
}

Result<std::shared_ptr<const Facts>> FactsCache::gather(const std::shared_ptr<const settings::Settings>& settings,
                                                        const FactQuery& query) {
  // Who finds it in use looks for itself rather than wait.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return look(*settings, query);
  if (!std::exchange(tried_, true)) watch_ = PathWatch::make();
  if (!watch_) return look(*settings, query);

  if (watch_->changed()) entries_.clear();
  const auto now = std::chrono::steady_clock::now();
  const Accounts accounts = look_at_accounts(query.accounts);
  for (const Entry& entry : entries_) {
    if (entry.settings == settings && now - entry.made < kFresh && same(entry.accounts, accounts) &&
        entry.facts->uid == ::geteuid() && entry.facts->gid == ::getegid() && entry.facts->hostname == host_name() &&
        entry.query == query) {
      return entry.facts;
    }
  }
  watch_->begin();
  auto facts = look(*settings, query, watch_.get());
  if (facts && watch_->complete()) {
    entries_.push_front({settings, query, accounts, now, *facts});
    if (entries_.size() > kKept) entries_.pop_back();
  }
  return facts;
}

}  // namespace exechost::plan
