#include "core/keeper/environments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/keeper/command_server.hpp"
#include "core/keeper/execution.hpp"

namespace exechost::keeper {
namespace {

Operations::Task opening_task(std::shared_ptr<Core> core, std::shared_ptr<Opened> result, OpenRequest request) {
  return [core = std::move(core), result = std::move(result),
          request = std::move(request)](const plugin::CallLimits& limits) {
    std::shared_ptr<Backend> backend;
    CallResult made = core->backends.get(request.plugin, limits, backend);
    if (made.status != ReplyStatus::ok) return made;
    cleanup::Ledger* ledger = nullptr;
    {
      const std::lock_guard lock(core->ledger_mutex);
      if (!core->ledger) {
        auto opened = cleanup::Ledger::open(core->ledger_folder);
        if (!opened) return CallResult::failed(opened.error());
        core->ledger = std::move(*opened);
      }
      ledger = &*core->ledger;
    }
    *result = open_environment(request, backend, *ledger, core->guest_path, limits);
    return result->result;
  };
}

}  // namespace

Environments::~Environments() {
  // A backend may be destroyed only when its environments are closed. Those that could not be:
  // theirs stays, with what it still does.
  for (const auto& [number, environment] : open_) {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): as any allocation
    new std::shared_ptr<Backend>(environment->backend);
  }
}

void Environments::open(Operations::Id id, OpenRequest request, const Opened& opened) {
  auto result = std::make_shared<keeper::Opened>();
  auto task = opening_task(core_, result, std::move(request));
  operations_.run(id, std::move(task), [this, result, opened](const Operations::Ending& ending) {
    const auto environment = result->environment;
    if (environment) {
      if (result->guest) {
        const std::shared_ptr<EventLoop> loop(core_, &core_->loop);
        environment->server = make_command_server(loop, std::move(*result->guest), environment->backend->id());
        environment->server->start();
      }
      environment->number = core_->next_environment++;
      open_[environment->number] = environment;
    }
    opened(ending, environment);
  });
}

Operations::Id Environments::end(const std::shared_ptr<Environment>& environment, bool purge, std::int64_t deadline_ns,
                                 Closed closed) {
  if (environment->closing) {
    environment->when_closed.emplace_back(std::move(closed));
    return 0;
  }
  const auto told = std::make_shared<bool>(false);
  const auto tell = [told, environment, closed = std::move(closed)](const CallResult& result) {
    if (!std::exchange(*told, true)) closed(result);
    for (const auto& other : std::exchange(environment->when_closed, {})) other(result);
  };
  auto begun =
      operations_.begin(deadline_ns, fmt::format("backend \"{}\", closing an environment,", environment->backend->id()),
                        [tell](const Operations::Ending& ending) { tell(ending.result); });
  if (!begun) {
    tell(CallResult::failed(begun.error()));
    return 0;
  }
  environment->closing = true;
  const auto run = [this, environment, purge, id = *begun, tell] {
    auto guest = environment->server ? std::make_shared<ServingGuest>(environment->server->stop()) : nullptr;
    auto task = [environment, guest, purge](const plugin::CallLimits& limits) {
      return close_environment(*environment, guest.get(), purge, limits);
    };
    operations_.run(id, std::move(task), [this, environment, tell](const Operations::Ending& ending) {
      // After a failed close it may be tried again; the ledger's entry stays until one succeeds.
      environment->closing = false;
      if (ending.result.status == ReplyStatus::ok) open_.erase(environment->number);
      tell(ending.result);
      changed_();
    });
  };
  if (environment->running.empty()) {
    run();
    return *begun;
  }
  environment->when_idle = run;
  std::vector<std::shared_ptr<Execution>> running;
  for (Execution* const execution : environment->running) running.emplace_back(execution->shared_from_this());
  for (const auto& execution : running) execution->kill();
  return *begun;
}

void Environments::end_all(std::int64_t deadline_ns) {
  const auto open = open_;
  for (const auto& [number, environment] : open) {
    if (!environment->closing) end(environment, false, deadline_ns, [](const CallResult&) {});
  }
}

std::shared_ptr<Environment> Environments::find(std::uint64_t number) const {
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : found->second;
}

bool Environments::settled() const {
  return std::none_of(open_.begin(), open_.end(), [](const auto& item) { return item.second->closing; });
}

}  // namespace exechost::keeper
