// One environment that the keeper has opened, with the ledger entry that was there before it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cleanup/ledger.hpp"
#include "core/keeper/backends.hpp"

namespace exechost::keeper {

class CommandServer;
class Execution;
struct ServingGuest;
namespace shell {
struct Line;
}

// Destroyed after close: `table` is dead then. Shared between the loop and the worker that calls
// into it; members other than the constant ones are the loop's.
struct Environment {
  std::uint64_t number = 0;
  std::shared_ptr<Backend> backend;
  const eh_environment* table = nullptr;
  std::string id;    // the ledger's
  std::string init;  // path of the guest inside; empty: it can't be put in
  std::shared_ptr<cleanup::LedgerEntry> entry;

  std::shared_ptr<CommandServer> server;  // of its commands; null: each is started by the plugin
  std::set<Execution*> running;           // that use it, release included
  std::shared_ptr<shell::Line> shells;    // whose state goes on from run to run; null: there was none yet
  bool closing = false;
  std::function<void()> when_idle;  // called once, when `running` becomes empty
  std::function<void()> on_idle;    // called each time that happens, while it is not being closed
  std::vector<std::function<void(const CallResult&)>> when_closed;  // others that want it closed
};

struct Opened {
  CallResult result;
  std::shared_ptr<Environment> environment;  // set exactly when the result is ok
  std::shared_ptr<ServingGuest> guest;       // when one was asked for
};

// Writes the ledger entry, then opens, and puts a guest in that serves where the request asks for that. A failed open
// removes the entry again. Blocks. [worker]
Opened open_environment(const OpenRequest& request, const std::shared_ptr<Backend>& backend, cleanup::Ledger& ledger,
                        const std::string& guest_path, const plugin::CallLimits& limits);

// Closes, and removes the entry when nothing is left; otherwise the entry stays for a later
// start to find. Blocks. [worker]
// `guest`: the one that served it, or null.
CallResult close_environment(Environment& environment, ServingGuest* guest, bool purge,
                             const plugin::CallLimits& limits);

}  // namespace exechost::keeper
