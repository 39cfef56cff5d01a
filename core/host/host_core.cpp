#include "core/host/host_core.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/open_files.hpp"
#include "core/base/unique_fd.hpp"

namespace exechost::host {
namespace {

ProbeCache::Outcome outcome_of(const keeper::Reply& reply, const std::string& backend) {
  switch (reply.status) {
    case keeper::ReplyStatus::ok: return plan::parse_probe(backend, reply.body);
    case keeper::ReplyStatus::failed: return unexpected(reply.failure);
    case keeper::ReplyStatus::timed_out:
    case keeper::ReplyStatus::cancelled: break;
  }
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "probe";
  failure.backend = backend;
  failure.message = fmt::format("backend {} did not finish its probe within {} s", backend, ProbeCache::kProbe.count());
  failure.hint = "try again, or choose another backend";
  return unexpected(std::move(failure));
}

}  // namespace

HostCore::HostCore(const HostOptions& options)
    : context_(make_context(options)),
      probes_([this](const keeper::PluginChoice& choice) { return begin_probe(choice); }),
      planner_(context_, catalog_, probes_),
      gate_(options.approver) {}

HostCore::Engine& HostCore::engine() {
  const std::lock_guard lock(mutex_);
  if (!engine_) engine_ = std::make_unique<Engine>(context_);
  return *engine_;
}

namespace {

// A user's watches are counted (fs.epoll.max_user_watches, epoll(7)), and a command of the same user can take them
// all. An event loop made then would hear of nothing, not even of a deadline.
Result<void> check_event_watches() {
  const UniqueFd poll(::epoll_create1(EPOLL_CLOEXEC));
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  epoll_event wanted{};
  if (poll && event && ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, event.get(), &wanted) == 0) return {};
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "reactor";
  failure.error_number = errno;
  failure.message = fmt::format("no event can be waited for: {}", std::strerror(failure.error_number));
  if (failure.error_number == ENOSPC)
    failure.hint = "this user's epoll watches are used up (fs.epoll.max_user_watches): end the program that took them";
  return unexpected(std::move(failure));
}

}  // namespace

Result<void> HostCore::ready() {
  if (auto watches = check_event_watches(); !watches) return watches;
  if (auto enough = check_open_files(); !enough) return enough;
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::plan;
  failure.step = "reactor";
  try {
    engine();
    return {};
  } catch (const boost::system::system_error& error) {  // its descriptors
    failure.error_number = error.code().value();
    failure.message = fmt::format("no event loop can be made: {}", error.what());
  } catch (const std::system_error& error) {  // its thread
    failure.error_number = error.code().value();
    failure.message = fmt::format("no thread can be started: {}", error.what());
  }
  return unexpected(std::move(failure));
}

Reactor& HostCore::reactor() { return engine().reactor; }

Result<std::shared_ptr<environment::KeeperPort>> HostCore::keeper(const keeper::PluginChoice& plugin, bool named) {
  if (!context_.installation) return unexpected(context_.installation.error());
  return engine().keepers.port(plugin, named);
}

bool HostCore::on_reactor_thread() {
  const std::lock_guard lock(mutex_);
  return engine_ && engine_->reactor.on_reactor_thread();
}

std::future<ProbeCache::Outcome> HostCore::begin_probe(const keeper::PluginChoice& choice) {
  auto promise = std::make_shared<std::promise<ProbeCache::Outcome>>();
  auto future = promise->get_future();
  auto port = keeper(choice);
  if (!port) {
    promise->set_value(unexpected(port.error()));
    return future;
  }
  keeper::ProbeRequest request;
  request.plugin = choice;
  request.deadline_ns = deadline_after(ProbeCache::kProbe);
  reactor().post([port = std::move(*port), request = std::move(request), promise = std::move(promise)] {
    port->probe(request, [promise, backend = request.plugin.id](const keeper::Reply& reply) {
      promise->set_value(outcome_of(reply, backend));
    });
  });
  return future;
}

}  // namespace exechost::host
