#include "core/conformance/keeper_link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/unique_fd.hpp"
#include "core/cleanup/identity.hpp"
#include "core/environment/environment_source.hpp"
#include "core/execution/execution.hpp"

namespace exechost::conformance {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kPatience = 25s;  // beyond every deadline that is set here

Failure link_failure(std::string message) {
  Failure failure;
  failure.kind = FailureKind::protocol_error;
  failure.phase = Phase::run;
  failure.step = "link";
  failure.message = std::move(message);
  return failure;
}

// Whether the answer is there. Not when `stop` or `patience` ended the waiting.
template <class Answer>
bool arrives(const std::future<Answer>& answer, std::chrono::milliseconds patience, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (answer.wait_for(20ms) != std::future_status::ready) {
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= until) return false;
  }
  return true;
}

// One open environment for many commands. It stays when a command is done with it.
class Borrowed final : public environment::EnvironmentSource {
 public:
  Borrowed(Reactor& reactor, std::uint64_t number) : reactor_(reactor), number_(number) {}
  Ticket acquire(environment::EnvironmentRequest /*request*/,
                 std::function<void(environment::Acquired)> handler) override {
    environment::Acquired acquired;
    acquired.status = keeper::ReplyStatus::ok;
    acquired.lease.environment = number_;
    reactor_.post([handler = std::move(handler), acquired] { handler(acquired); });
    return 1;
  }
  void cancel(Ticket /*acquisition*/) override {}
  void release(const environment::Lease& /*lease*/, environment::Release /*how*/, std::int64_t /*deadline_ns*/,
               std::function<void(keeper::Reply)> handler) override {
    keeper::Reply reply;
    reply.status = keeper::ReplyStatus::ok;
    reactor_.post([handler = std::move(handler), reply] { handler(reply); });
  }

 private:
  Reactor& reactor_;
  std::uint64_t number_;
};

Result<keeper::Reply> as_result(keeper::Reply reply, std::string_view what) {
  switch (reply.status) {
    case keeper::ReplyStatus::ok: return reply;
    case keeper::ReplyStatus::failed: return unexpected(std::move(reply.failure));
    case keeper::ReplyStatus::timed_out: return unexpected(link_failure(fmt::format("{} timed out", what)));
    case keeper::ReplyStatus::cancelled: return unexpected(link_failure(fmt::format("{} was cancelled", what)));
  }
  return unexpected(link_failure("an unknown status"));
}

}  // namespace

struct KeeperLink::Impl {
  Impl(const HostOptions& options, Request wanted, std::stop_token asked)
      : core(options), request(std::move(wanted)), stop(std::move(asked)) {}

  // Once, before any other call: several threads read it then.
  Result<void> choose_plugin() {
    auto prepared = core.planner().prepare(request);
    if (!prepared) return unexpected(prepared.error());
    auto made = plan::make_plan({request, *prepared->settings, prepared->backends, *prepared->facts, false});
    if (!made) return unexpected(made.error());
    plugin = host::plugin_choice(*prepared->settings, made->backend, made->backend_library);
    return {};
  }

  Result<plan::Plan> plan_for(const Request& wanted) {
    auto prepared = core.planner().prepare(wanted);
    if (!prepared) return unexpected(prepared.error());
    return plan::make_plan({wanted, *prepared->settings, prepared->backends, *prepared->facts, false});
  }

  using Handler = std::function<void(keeper::Reply)>;
  // `ask` is called on the reactor with the port and the handler of the answer.
  template <class Ask>
  keeper::Reply wait_for(Ask ask) {
    keeper::Reply lost;
    auto port = core.keeper(plugin);
    if (!port) {
      lost.failure = port.error();
      return lost;
    }
    auto promise = std::make_shared<std::promise<keeper::Reply>>();
    auto answer = promise->get_future();
    core.reactor().post([port = *port, promise, ask = std::move(ask)] {
      ask(*port, [promise](keeper::Reply reply) { promise->set_value(std::move(reply)); });
    });
    if (arrives(answer, kPatience, stop)) return answer.get();
    lost.failure = link_failure(stop.stop_requested() ? "the kit was stopped" : "there was no answer within 25 s");
    return lost;
  }

  host::HostCore core;
  Result<CommandInPlace> begin(const OpenPlace& place, const std::string& script, std::int64_t deadline_ns,
                               bool with_input);

  Request request;
  std::stop_token stop;
  keeper::PluginChoice plugin;
  std::vector<std::shared_ptr<execution::Run>> running;
};

KeeperLink::KeeperLink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KeeperLink::~KeeperLink() {
  // A run is the reactor's own.
  std::promise<void> dropped;
  impl_->core.reactor().post([this, &dropped] {
    impl_->running.clear();
    dropped.set_value();
  });
  dropped.get_future().wait();
}

Result<std::unique_ptr<KeeperLink>> KeeperLink::make(const HostOptions& options, Request request,
                                                     std::stop_token stop) {
  HostOptions own = options;
  own.keeper = KeeperPlacement::child;
  auto impl = std::make_unique<Impl>(own, std::move(request), std::move(stop));
  if (auto ready = impl->core.ready(); !ready) return unexpected(ready.error());
  if (auto chosen = impl->choose_plugin(); !chosen) return unexpected(chosen.error());
  return std::unique_ptr<KeeperLink>(new KeeperLink(std::move(impl)));
}

namespace {

struct Opening {
  keeper::OpenRequest request;
  json entry;
};

}  // namespace

// The entry is what the ledger will have, as far as a reaper needs it.
static Result<Opening> opening_for(const plan::Plan& plan, const keeper::PluginChoice& plugin,
                                   const std::string& guest_path, std::chrono::milliseconds time) {
  auto id = cleanup::make_id();
  if (!id) return unexpected(id.error());
  plan::OpenIdentity identity;
  identity.id = *id;
  identity.name = "exechost-" + id->substr(0, 12);
  identity.labels = {{"exechost.id", *id}};
  identity.deadline_ns = deadline_after(time);
  identity.guest_path = guest_path;
  Opening opening;
  opening.request.plugin = plugin;
  opening.request.document = plan::open_document(plan, identity);
  opening.request.deadline_ns = identity.deadline_ns;
  opening.request.stream = plan.guest == plan::GuestEntry::stream;
  opening.request.serve = opening.request.stream || (plan.persistent && plan.guest != plan::GuestEntry::none);
  if (opening.request.serve) opening.request.confinement = plan.confinement;
  opening.entry = {{"schema", 1},           {"id", identity.id},     {"backend", plugin.id},
                   {"name", identity.name}, {"kind", "environment"}, {"labels", identity.labels}};
  return opening;
}

Result<OpenPlace> KeeperLink::open(std::chrono::milliseconds time) {
  auto plan = impl_->plan_for(impl_->request);
  if (!plan) return unexpected(plan.error());
  auto opening = opening_for(*plan, impl_->plugin, impl_->core.context().installation->guest_program, time);
  if (!opening) return unexpected(opening.error());
  auto reply =
      as_result(impl_->wait_for([request = opening->request](environment::KeeperPort& port, Impl::Handler handler) {
        port.open(request, std::move(handler));
      }),
                "open");
  if (!reply) return unexpected(reply.error());
  const auto number = reply->body.find("environment");
  if (number == reply->body.end() || !number->is_number_unsigned())
    return unexpected(link_failure("the answer to open names no environment"));
  return OpenPlace{number->get<std::uint64_t>(), std::move(opening->entry)};
}

keeper::Reply KeeperLink::open_and_cancel() {
  keeper::Reply refused;
  auto plan = impl_->plan_for(impl_->request);
  auto opening = plan ? opening_for(*plan, impl_->plugin, impl_->core.context().installation->guest_program, 20s)
                      : Result<Opening>(unexpected(plan.error()));
  if (!opening) {
    refused.failure = opening.error();
    return refused;
  }
  return impl_->wait_for([request = opening->request](environment::KeeperPort& port, Impl::Handler handler) {
    port.cancel(port.open(request, std::move(handler)));
  });
}

Result<void> KeeperLink::close(const OpenPlace& place) {
  keeper::CloseRequest request;
  request.environment = place.number;
  request.deadline_ns = deadline_after(20s);
  auto reply = as_result(impl_->wait_for([request](environment::KeeperPort& port, Impl::Handler handler) {
    port.close(request, std::move(handler));
  }),
                         "close");
  if (!reply) return unexpected(reply.error());
  return {};
}

Result<std::vector<json>> KeeperLink::list() {
  keeper::ListRequest request;
  request.plugin = impl_->plugin;
  request.deadline_ns = deadline_after(20s);
  auto reply = as_result(impl_->wait_for([request](environment::KeeperPort& port, Impl::Handler handler) {
    port.list(request, std::move(handler));
  }),
                         "list");
  if (!reply) return unexpected(reply.error());
  return std::vector<json>(reply->body.begin(), reply->body.end());
}

Result<void> KeeperLink::reap(const json& entry) {
  keeper::ReapRequest request;
  request.plugin = impl_->plugin;
  request.entry = entry;
  request.deadline_ns = deadline_after(20s);
  auto reply = as_result(impl_->wait_for([request](environment::KeeperPort& port, Impl::Handler handler) {
    port.reap(request, std::move(handler));
  }),
                         "reap");
  if (!reply) return unexpected(reply.error());
  return {};
}

Result<CommandInPlace> KeeperLink::Impl::begin(const OpenPlace& place, const std::string& script,
                                               std::int64_t deadline_ns, bool with_input) {
  Request wanted = request;
  wanted.argv.clear();
  wanted.shell = script;
  auto plan = plan_for(wanted);
  if (!plan) return unexpected(plan.error());
  auto port = core.keeper(plugin);
  if (!port) return unexpected(port.error());
  CommandInPlace begun;
  begun.stop_ = stop;
  execution::RunSpec spec;
  if (with_input) {
    begun.input_ = std::make_shared<execution::StdinBuffer>();
    spec.streams.input.buffer = begun.input_;
  }
  spec.plan = std::make_shared<const plan::Plan>(std::move(*plan));
  spec.plugin = plugin;
  spec.guest_path = core.context().installation->guest_program;
  spec.streams.cap_bytes = spec.plan->output.cap_bytes;
  spec.deadline_ns = deadline_ns;
  Reactor& reactor = core.reactor();
  begun.run_ = std::make_shared<execution::Run>(reactor, *port, std::make_shared<Borrowed>(reactor, place.number),
                                                std::move(spec));
  auto promise = std::make_shared<std::promise<ExecResult>>();
  begun.ended_ = promise->get_future();
  reactor.post(
      [run = begun.run_, promise] { run->start([promise](ExecResult done) { promise->set_value(std::move(done)); }); });
  return begun;
}

ExecResult KeeperLink::run(const OpenPlace& place, const std::string& script, std::chrono::milliseconds time) {
  ExecResult result;
  auto begun = impl_->begin(place, script, deadline_after(time), false);
  if (!begun) {
    result.failure = begun.error();
    return result;
  }
  if (arrives(begun->ended_, time + kPatience, impl_->stop)) return begun->ended_.get();
  impl_->core.reactor().post([run = begun->run_] { run->cancel(); });
  result.failure =
      link_failure(impl_->stop.stop_requested() ? "the kit was stopped"
                                                : "the command did not end, although its deadline has passed");
  return result;
}

Result<CommandInPlace> KeeperLink::begin(const OpenPlace& place, const std::string& script) {
  auto begun = impl_->begin(place, script, kNoDeadline, true);
  if (begun) impl_->core.reactor().post([this, run = begun->run_] { impl_->running.push_back(run); });
  return begun;
}

ExecResult CommandInPlace::wait() {
  if (arrives(ended_, kPatience, stop_)) return ended_.get();
  ExecResult result;
  result.failure = link_failure("the command did not end");
  return result;
}

std::string KeeperLink::keeper_folder() {
  std::error_code error;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", impl_->core.keeper_pid(impl_->plugin)), error)
      .string();
}

Result<void> KeeperLink::kill_keeper() {
  const int pid = impl_->core.keeper_pid(impl_->plugin);
  if (pid <= 0) return unexpected(link_failure("there is no keeper process"));
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd || ::kill(pid, SIGKILL) != 0)
    return unexpected(link_failure(fmt::format("the keeper can't be killed: {}", std::strerror(errno))));
  pollfd gone{pidfd.get(), POLLIN, 0};
  if (::poll(&gone, 1, 10'000) != 1) return unexpected(link_failure("the keeper does not die"));
  return {};
}

}  // namespace exechost::conformance
