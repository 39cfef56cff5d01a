// What everything in one keeper shares. Tasks on workers may still touch it when the keeper's work is over; they
// share its ownership.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/cleanup/ledger.hpp"
#include "core/keeper/backends.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/host_services.hpp"
#include "core/keeper/keeper.hpp"
#include "core/keeper/process_launcher.hpp"

namespace exechost::keeper {

struct Core {
  explicit Core(const KeeperOptions& options)
      : ledger_folder(options.ledger_folder),
        guest_path(options.guest_path),
        launcher(make_process_launcher(options.child_open_files)),
        services(loop, *launcher),
        backends(services) {}
  const std::string ledger_folder;
  const std::string guest_path;
  EventLoop loop;
  std::unique_ptr<ProcessLauncher> launcher;
  HostServices services;
  Backends backends;
  std::mutex ledger_mutex;
  std::optional<cleanup::Ledger> ledger;  // guarded by ledger_mutex; opened at first need
  std::uint64_t next_environment = 1;     // [loop]
};

}  // namespace exechost::keeper
