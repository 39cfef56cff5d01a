// One environment that the keeper has opened, with the ledger entry that was there before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cleanup/ledger.hpp"
#include "core/keeper/backends.hpp"

namespace exechost::keeper {

// Destroyed after close: `table` is dead then. Shared between the loop and the worker that calls
// into it; members other than the constant ones are the loop's.
struct Environment {
  std::uint64_t number = 0;
  std::shared_ptr<Backend> backend;
  const eh_environment* table = nullptr;
  std::string id;    // the ledger's
  std::string init;  // path of the guest inside; empty: it can't be put in
  std::shared_ptr<cleanup::LedgerEntry> entry;

  std::size_t executions = 0;  // that use it, release included
  bool closing = false;
  std::function<void()> when_idle;  // called when `executions` becomes 0
};

struct Opened {
  CallResult result;
  std::shared_ptr<Environment> environment;  // set exactly when the result is ok
};

// Writes the ledger entry, then opens. A failed open removes the entry again. Blocks. [worker]
Opened open_environment(const OpenRequest& request, const std::shared_ptr<Backend>& backend, cleanup::Ledger& ledger,
                        const std::string& guest_path, const plugin::CallLimits& limits);

// Closes, and removes the entry when nothing is left; otherwise the entry stays for a later
// start to find. Blocks. [worker]
CallResult close_environment(Environment& environment, bool purge, const plugin::CallLimits& limits);

}  // namespace exechost::keeper
