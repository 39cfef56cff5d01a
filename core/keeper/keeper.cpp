#include "core/keeper/keeper.hpp"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "core/base/clock.hpp"
#include "core/keeper/connection.hpp"
#include "core/keeper/worker_pool.hpp"

namespace exechost::keeper {
namespace {

constexpr auto kWorkerPatience = std::chrono::seconds(1);

// Signals are for the program around the keeper, never for its threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

bool serve(UniqueFd socket, const KeeperOptions& options) {
  const NoSignals no_signals;
  bool clean = false;
  try {
    const auto core = std::make_shared<Core>(options);
    WorkerPool pool;
    {
      EventLoop& loop = core->loop;
      Connection connection(core, pool, std::move(socket), options.host_pidfd, nullptr, [&loop](bool) { loop.stop(); });
      connection.start();
      loop.run();
    }
    clean = pool.finish(deadline_after(kWorkerPatience));
    if (clean) {
      core->backends.clear();
    } else {
      // A plugin that never returned may still come back and ask for services.
      new std::shared_ptr<Core>(core);
    }
  } catch (...) {
    // Out of memory or descriptors: what was started is killed by its owners' destructors.
    clean = false;
  }
  return clean;
}

}  // namespace exechost::keeper
