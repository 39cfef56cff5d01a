// Facts of earlier requests, for as long as nothing they say has changed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "core/plan/facts.hpp"
#include "core/plan/path_watch.hpp"

namespace exechost::plan {

// Looking at the machine takes longer than the rest of planning, and most requests follow one with the
// same settings from the same place. What is remembered is thrown away as soon as anything about a path
// in it changes; where the kernel can't tell, nothing is remembered.
// Safe to use from any thread.
class FactsCache {
 public:
  static constexpr std::size_t kKept = 16;
  // What no folder tells: a home in an account database elsewhere (LDAP).
  static constexpr std::chrono::seconds kFresh{60};

  // As plan::gather, without remembering anything.
  static Result<std::shared_ptr<const Facts>> look(const settings::Settings& settings, const FactQuery& query,
                                                   PathWatch* watch = nullptr);
  // As plan::gather. Equal facts are the same object, which lets what was made from them be kept too.
  Result<std::shared_ptr<const Facts>> gather(const std::shared_ptr<const settings::Settings>& settings,
                                              const FactQuery& query);

 private:
  struct Accounts {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec written{};
    timespec changed{};
  };
  struct Entry {
    std::shared_ptr<const settings::Settings> settings;
    FactQuery query;
    Accounts accounts;
    std::chrono::steady_clock::time_point made;
    std::shared_ptr<const Facts> facts;
  };
  static Accounts look_at_accounts(const std::string& path);
  static bool same(const Accounts& one, const Accounts& other);

  std::mutex mutex_;
  std::unique_ptr<PathWatch> watch_;
  bool tried_ = false;
  std::deque<Entry> entries_;  // the latest first
};

}  // namespace exechost::plan
