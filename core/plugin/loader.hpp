// Loads a plugin's library (Boost.DLL as a loader only) and checks it before any of its
// functions but the entry is called. Loaded libraries are never unloaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/plugin/registry.hpp"
#include "exechost/failure.hpp"
#include "exechost/plugin.h"

namespace exechost::plugin {

// Answers and failures of one call across the ABI, copied out.
struct CallOutcome {
  eh_status status = EH_FAILED;
  std::string answer;  // JSON text; empty when none was given
  Failure failure;     // meaningful for EH_FAILED
};

// A deadline and a cancellation descriptor for one call.
struct CallLimits {
  std::int64_t deadline_ns = INT64_MAX;  // CLOCK_MONOTONIC
  int cancel_fd = -1;
};

class LoadedPlugin {
 public:
  LoadedPlugin(Found found, const eh_plugin* table) : found_(std::move(found)), table_(table) {}
  const Found& found() const { return found_; }
  const eh_plugin* table() const { return table_; }

 private:
  Found found_;
  const eh_plugin* table_;
};

// What loading may use.
struct LoadOptions {
  // Lower-case hex; not empty: the library has to have it, and a sealed copy is loaded.
  std::string pinned_sha256;
  // exechost-plugin-check; empty: found from where this code is (find_check_program).
  std::string check_program;
  // How long a library with constructors of its own may take to load when it is tried.
  std::chrono::milliseconds trial_limit{5000};
};

// `unavailable` with the file and the reason: found.problem, untrusted (trust.hpp), not an ELF file,
// no entry symbol, null entry, wrong magic, other major, truncated table, missing function, id or
// version unlike the manifest's, loaded object not the checked file (device and inode), SHA-256
// unlike the pinned one.
//
// A static constructor that throws, crashes, exits or hangs would take this process with it: an
// exception does not get through dlopen (measured with glibc 2.36: std::terminate). So a library
// that has constructors of its own is tried first in a process of its own, exechost-plugin-check.
// [any thread]
Result<std::shared_ptr<const LoadedPlugin>> load_plugin(const Found& found, const LoadOptions& options);
Result<std::shared_ptr<const LoadedPlugin>> load_plugin(const Found& found, const std::string& pinned_sha256 = {});

// One call context; pass call() to an ABI function, then take the outcome. A status that is not
// listed in plugin.h becomes EH_FAILED with protocol_error, and EH_FAILED without a report too.
class Call {
 public:
  Call(std::string backend, Phase phase, CallLimits limits);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  const eh_call* call() const;
  // Called with what the plugin says it is doing, on the plugin's thread. Set before the call.
  void on_progress(std::function<void(std::string_view)> handler);
  CallOutcome finish(eh_status status);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline eh_str to_eh(std::string_view text) { return eh_str{text.data(), text.size()}; }
std::string from_eh(eh_str text);  // null pointer: empty

}  // namespace exechost::plugin
