#include "exechost/host.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "core/admission/gate.hpp"
#include "core/base/clock.hpp"
#include "core/base/open_files.hpp"
#include "core/cleanup/identity.hpp"
#include "core/gateway/commands/run.hpp"
#include "core/gateway/policy.hpp"
#include "core/host/admission_report.hpp"
#include "core/host/backends_report.hpp"
#include "core/host/copy.hpp"
#include "core/host/detached_command.hpp"
#include "core/host/host_core.hpp"
#include "core/host/inner_files.hpp"
#include "core/host/request_run.hpp"
#include "core/host/session_calls.hpp"
#include "core/host/workspace_copy.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_cache.hpp"
#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"
#include "exechost/session.hpp"

namespace exechost {
namespace {

using execution::SharedFd;

Failure on_reactor_failure() {
  return plan::plan_failure(FailureKind::invalid_request,
                            "a command can't be started from an output callback, which must not block",
                            "start it from another thread");
}

Result<std::shared_ptr<SharedFd>> callers_descriptor(Reactor& reactor, int fd, SharedFd::Use use) {
  if (fd < 0) return std::shared_ptr<SharedFd>();
  return SharedFd::open(reactor.context(), fd, use);
}

// The caller's descriptors and bytes, ready for any number of attempts.
Result<execution::StreamsSpec> open_streams(Reactor& reactor, const Request& request) {
  execution::StreamsSpec streams;
  auto out = callers_descriptor(reactor, request.stdout_descriptor, SharedFd::Use::write);
  if (!out) return unexpected(out.error());
  auto err = callers_descriptor(reactor, request.stderr_descriptor, SharedFd::Use::write);
  if (!err) return unexpected(err.error());
  streams.out = std::move(*out);
  streams.err = std::move(*err);
  switch (request.standard_input.kind) {
    case StdinSource::Kind::none: break;
    case StdinSource::Kind::bytes:
      streams.input.bytes = std::make_shared<const std::string>(request.standard_input.bytes);
      break;
    case StdinSource::Kind::stream: streams.input.buffer = std::make_shared<execution::StdinBuffer>(); break;
    case StdinSource::Kind::descriptor: {
      auto in = SharedFd::open(reactor.context(), request.standard_input.descriptor, SharedFd::Use::read);
      if (!in) return unexpected(in.error());
      streams.input.descriptor = std::move(*in);
      break;
    }
  }
  streams.on_output = request.on_output;
  streams.tty = request.tty;
  streams.rows = request.tty_rows;
  streams.columns = request.tty_columns;
  return streams;
}

}  // namespace

struct ExecHost::Impl {
  explicit Impl(const HostOptions& options) : core(options) {
    copies = std::make_unique<workspace::Copies>(core.context().copies_dir());
  }

  Result<host::Prepared> prepare(const Request& request) {
    if (core.on_reactor_thread()) return unexpected(on_reactor_failure());
    if (auto ready = core.ready(); !ready) return unexpected(ready.error());
    return core.planner().prepare(request);
  }

  Result<host::SessionCalls> session_calls() {
    if (core.on_reactor_thread()) return unexpected(on_reactor_failure());
    if (auto ready = core.ready(); !ready) return unexpected(ready.error());
    return host::SessionCalls(core.reactor(), core.context().keepers_dir());
  }

  // About a command in the background.
  Result<nlohmann::json> ask(keeper::SessionsRequest about, const std::string& session, const std::string& command) {
    auto calls = session_calls();
    if (!calls) return unexpected(calls.error());
    about.owner = core.context().session_owner;
    about.name = session;
    about.command = command;
    return calls->about_command(std::move(about));
  }

  Result<host::PlanPointer> plan_of(const Request& request, const host::Prepared& prepared, bool builtin = false) {
    auto plan = plans.get(
        {request, *prepared.settings, prepared.backends, *prepared.facts, core.gate().can_ask(),
         core.context().single_run, builtin, copies->tree_path(plan::text_setting(*prepared.settings, "session.name"))},
        prepared.settings, prepared.facts);
    if (plan && (*plan)->tier == "gateway") {
      if (auto known = gateway::check_command((*plan)->argv); !known) return unexpected(known.error());
    }
    return plan;
  }

  struct Explained {
    plan::Plan plan;
    admission::Decision decision;
  };
  // Stops after admission; what would be refused whoever is asked is a failure here too.
  Result<Explained> explain(const Request& request) {
    auto prepared = prepare(request);
    if (!prepared) return unexpected(prepared.error());
    const auto made = plan_of(request, *prepared);
    if (!made) return unexpected(made.error());
    const plan::Plan& plan = **made;
    auto decision = core.gate().decide(plan, admission::rules_from(*prepared->settings));
    if (auto refused = admission::refused_without_asking(plan, decision, true)) return unexpected(*refused);
    return Explained{plan, std::move(decision)};
  }

  // What is executed, from a request to a run on the reactor.
  Result<std::shared_ptr<Execution::State>> start(const Request& request, std::int64_t began_ns, bool builtin = false,
                                                  const std::optional<host::BackgroundWish>& background = {}) {
    auto started = prepare_and_start(request, began_ns, builtin, background);
    if (!started) name_open_files_limit(started.error());
    return started;
  }

  Result<std::shared_ptr<Execution::State>> prepare_and_start(const Request& request, std::int64_t began_ns,
                                                              bool builtin,
                                                              const std::optional<host::BackgroundWish>& background) {
    core.context().make_private_folders();
    auto prepared = prepare(request);
    if (!prepared) return unexpected(prepared.error());
    auto made = plan_of(request, *prepared, builtin);
    if (!made) return unexpected(made.error());
    host::PlanPointer plan = std::move(*made);
    if (background && plan->timeout && !prepared->settings->requested("resources.timeout")) {
      plan::Plan endless = *plan;
      endless.timeout.reset();
      plan = std::make_shared<const plan::Plan>(std::move(endless));
    }
    admission::Rules rules = admission::rules_from(*prepared->settings);
    const auto decision = core.gate().decide(*plan, rules);
    if (auto refused = admission::refused_without_asking(*plan, decision, core.gate().can_ask()))
      return unexpected(*refused);
    auto streams = open_streams(core.reactor(), request);
    if (!streams) return unexpected(streams.error());
    host::RequestContext context;
    if (plan->tier != "gateway") {
      auto port = core.keeper(host::plugin_choice(*prepared->settings, plan->backend, plan->backend_library),
                              plan->has_named_session());
      // One that is held back for its plugin's crashes is for the fallback to deal with.
      if (!port && port.error().backend.empty()) return unexpected(port.error());
      context.keeper = std::move(port);
    }

    auto state = std::make_shared<Execution::State>(core.reactor(), streams->input.buffer, request.tty);
    context.request = request;
    context.prepared = std::move(*prepared);
    context.plan = std::move(plan);
    context.keeper_for = [this](const keeper::PluginChoice& plugin, bool named) { return core.keeper(plugin, named); };
    context.workers = &core.workers();
    context.environments = &core.session_environments();
    context.single_run = core.context().single_run;
    context.background = background;
    context.session_owner = core.context().session_owner;
    context.builtin = builtin;
    context.copies = copies.get();
    context.copy_limits = host::copy_limits(*context.prepared.settings);
    context.guest_program = core.context().installation->guest_program;
    context.spill_dir = core.context().spill_dir();
    context.streams = std::move(*streams);
    context.began_ns = began_ns;
    context.planning = std::chrono::microseconds((monotonic_now_ns() - began_ns) / 1000);
    add(state);
    context.rules = std::move(rules);
    auto run = std::make_shared<host::RequestRun>(core.reactor(), core.gate(), state, std::move(context));
    core.reactor().post([this, run = std::move(run), state] { run->start([this, state] { remove(state); }); });
    return state;
  }

  // The session that a request's settings name, and how much of a copy is looked at.
  Result<std::pair<std::string, files::Limits>> session_of(const Request& request) {
    if (core.on_reactor_thread()) return unexpected(on_reactor_failure());
    auto resolved = core.planner().resolve(request);
    if (!resolved) return unexpected(resolved.error());
    return std::pair{plan::text_setting(*resolved->settings, "session.name"), host::copy_limits(*resolved->settings)};
  }

  struct AskedCopy {
    std::shared_ptr<workspace::CopyFolder> copy;
    files::Limits limits;
  };
  Result<AskedCopy> copy_of(const Request& request) {
    auto session = session_of(request);
    if (!session) return unexpected(session.error());
    auto copy = copies->find(session->first);
    if (!copy) return unexpected(copy.error());
    return AskedCopy{std::move(*copy), session->second};
  }

  // What a transfer needs of a host (copy.hpp).
  host::CopyHost copy_host() {
    host::CopyHost copying;
    copying.terms = [this](Request request) -> Result<host::CopyTerms> {
      request.shell.reset();
      request.argv = {"pack", "."};
      auto prepared = prepare(request);
      if (!prepared) return unexpected(prepared.error());
      const auto made = plan_of(request, *prepared, true);
      if (!made) return unexpected(made.error());
      const host::PlanPointer& plan = *made;
      host::CopyTerms terms = host::copy_terms(*plan, *prepared->settings, core.context());
      // The session may have been opened from elsewhere: what its commands can write is what counts.
      if (plan->has_named_session()) {
        auto calls = session_calls();
        if (!calls) return unexpected(calls.error());
        auto writable = calls->writable_in(core.context().session_owner, plan->session);
        if (!writable) return unexpected(writable.error());
        for (std::string& path : *writable) terms.places.writable_inside.push_back(std::move(path));
      }
      return terms;
    };
    copying.start = [this](const Request& request) -> Result<Execution> {
      auto started = start(request, monotonic_now_ns(), true);
      if (!started) return unexpected(started.error());
      return Execution(std::move(*started));
    };
    return copying;
  }

  void add(const std::shared_ptr<Execution::State>& state) {
    const std::lock_guard lock(mutex);
    active.insert(state);
  }
  void remove(const std::shared_ptr<Execution::State>& state) {
    const std::lock_guard lock(mutex);
    active.erase(state);
    idle.notify_all();
  }
  void end_all() {
    std::unique_lock lock(mutex);
    for (const auto& state : active) state->cancel();
    idle.wait(lock, [this] { return active.empty(); });
  }

  std::mutex mutex;
  std::condition_variable idle;
  std::set<std::shared_ptr<Execution::State>> active;
  plan::PlanCache plans;
  std::unique_ptr<workspace::Copies> copies;  // gone only when no environment has them any more
  host::HostCore core;                        // last: its reactor thread ends before what it touches goes
};

// NOLINTBEGIN(performance-unnecessary-value-param): both are public, and cheap beside what they do.
ExecHost::ExecHost(HostOptions options) : impl_(std::make_unique<Impl>(options)) {}

ExecHost::~ExecHost() { impl_->end_all(); }

ExecResult ExecHost::run(const Request& request, std::stop_token stop) {
  // NOLINTEND(performance-unnecessary-value-param)
  const std::int64_t began_ns = monotonic_now_ns();
  auto started = impl_->start(request, began_ns);
  if (!started) return host::failed_result(started.error(), began_ns);
  Execution execution(std::move(*started));
  const std::stop_callback on_stop(stop, [&execution] { execution.cancel(); });
  return execution.wait();
}

Result<Execution> ExecHost::start(const Request& request) {
  auto started = impl_->start(request, monotonic_now_ns());
  if (!started) return unexpected(started.error());
  return Execution(std::move(*started));
}

Result<gateway::Gateway> ExecHost::gateway(Request request) {
  request.tier = "gateway";
  request.shell.reset();
  request.argv = {"pwd"};
  auto prepared = impl_->prepare(request);
  if (!prepared) return unexpected(prepared.error());
  const auto plan = impl_->plan_of(request, *prepared);
  if (!plan) return unexpected(plan.error());
  return gateway::Gateway::open(gateway::make_policy(**plan, *prepared->settings, *prepared->facts));
}

CopyResult ExecHost::copy_in(const std::string& local, const Request& where, const std::string& path,
                             const CopyOptions& options, std::stop_token stop) {
  return host::copy_in(impl_->copy_host(), local, {where, path}, options, std::move(stop));
}

CopyResult ExecHost::copy_out(const Request& where, const std::string& path, const std::string& local,
                              const CopyOptions& options, std::stop_token stop) {
  return host::copy_out(impl_->copy_host(), {where, path}, local, options, std::move(stop));
}

CopyResult ExecHost::copy_between(const Request& from, const std::string& path, const Request& to,
                                  const std::string& target, const CopyOptions& options, std::stop_token stop) {
  return host::copy_between(impl_->copy_host(), {from, path}, {to, target}, options, std::move(stop));
}

// NOLINTBEGIN(performance-unnecessary-value-param): public, and cheap beside what they do.
Result<FileEntry> ExecHost::file_status(const Request& where, const std::string& path, std::stop_token stop) {
  return host::file_status(impl_->copy_host(), {where, path}, stop);
}

Result<std::vector<FileEntry>> ExecHost::list_files(const Request& where, const std::string& path,
                                                    std::stop_token stop) {
  return host::list_files(impl_->copy_host(), {where, path}, stop);
}

Result<void> ExecHost::remove_file(const Request& where, const std::string& path, bool tree, std::stop_token stop) {
  return host::remove_file(impl_->copy_host(), {where, path}, tree, stop);
}
// NOLINTEND(performance-unnecessary-value-param)

Result<ChangeList> ExecHost::changes(const Request& request) {
  auto asked = impl_->copy_of(request);
  if (!asked) return unexpected(asked.error());
  return host::list_changes(*asked->copy, asked->limits);
}

Result<ApplyResult> ExecHost::apply(const Request& request, const std::vector<std::string>& paths) {
  auto asked = impl_->copy_of(request);
  if (!asked) return unexpected(asked.error());
  auto base = workspace::load(asked->copy->descriptor());
  if (!base) return unexpected(base.error());
  // What commands may write there, as a run in the workspace itself would have it.
  Request look = request;
  look.shell.reset();
  look.argv = {"true"};
  look.workspace = base->workspace;
  auto prepared = impl_->prepare(look);
  if (!prepared) return unexpected(prepared.error());
  const auto plan = impl_->plan_of(look, *prepared);
  if (!plan) return unexpected(plan.error());
  return host::apply_changes(*asked->copy, **plan, paths, asked->limits);
}

Result<void> ExecHost::discard_changes(const Request& request) {
  auto session = impl_->session_of(request);
  if (!session) return unexpected(session.error());
  if (auto copy = impl_->copies->find(session->first); !copy) return unexpected(copy.error());
  // Its environment would show a copy that is gone, and what runs in it would write there.
  if (!session->first.empty()) {
    auto stopped = stop_session(session->first);
    if (!stopped && stopped.error().kind != FailureKind::invalid_request) return stopped;
  }
  return impl_->copies->discard(session->first);
}

Result<std::string> ExecHost::explain_json(const Request& request) {
  const auto explained = impl_->explain(request);
  if (!explained) return unexpected(explained.error());
  nlohmann::json document = plan::to_json(explained->plan);
  document["admission"] = host::admission_json(explained->decision);
  return document.dump();
}

Result<std::string> ExecHost::explain_text(const Request& request) {
  const auto explained = impl_->explain(request);
  if (!explained) return unexpected(explained.error());
  return plan::to_text(explained->plan) + host::admission_text(explained->decision);
}

Session ExecHost::session(std::string name) { return {*this, std::move(name)}; }

Result<std::string> ExecHost::sessions_json() {
  auto calls = impl_->session_calls();
  if (!calls) return unexpected(calls.error());
  auto sessions = calls->list(impl_->core.context().session_owner);
  if (!sessions) return unexpected(sessions.error());
  for (auto& session : *sessions) session.erase("writable");  // bytes, and between us
  return sessions->dump();
}

Result<void> ExecHost::stop_session(const std::string& name, bool purge) {
  auto calls = impl_->session_calls();
  if (!calls) return unexpected(calls.error());
  return calls->stop(impl_->core.context().session_owner, name, purge);
}

// NOLINTBEGIN(performance-unnecessary-value-param): as ExecHost's own
ExecResult Session::run(Request request, std::stop_token stop) const {
  // NOLINTEND(performance-unnecessary-value-param)
  request.session = name_;
  return host_->run(request, std::move(stop));
}

Result<Execution> Session::start(Request request) const {
  request.session = name_;
  return host_->start(request);
}

Result<std::string> Session::start_detached(Request request, const DetachedOptions& options) const {
  request.session = name_;
  host::BackgroundWish wish{options.id, options.keep_input};
  if (wish.id.empty()) {
    auto made = cleanup::make_id();
    if (!made) return unexpected(made.error());
    wish.id = made->substr(0, 8);
  }
  if (request.tty) {
    return unexpected(plan::plan_failure(FailureKind::unsupported, "a command in the background has no terminal",
                                         "leave out the terminal (--tty)"));
  }
  auto started = host_->impl_->start(request, monotonic_now_ns(), false, wish);
  if (!started) return unexpected(started.error());
  const ExecResult result = Execution(std::move(*started)).wait();
  if (result.failure) return unexpected(*result.failure);
  if (result.started == Started::yes) return wish.id;
  return unexpected(plan::plan_failure(FailureKind::spawn_failed, "the command was stopped before it had started", {}));
}

Result<DetachedCommand> Session::await(const std::string& command, std::uint64_t out_seen, std::uint64_t err_seen,
                                       std::chrono::milliseconds at_most) const {
  keeper::SessionsRequest request;
  request.what = keeper::SessionsRequest::What::await;
  request.out_seen = out_seen;
  request.err_seen = err_seen;
  request.deadline_ns = deadline_after(at_most);
  const auto answer = host_->impl_->ask(std::move(request), name_, command);
  if (!answer) return unexpected(answer.error());
  return host::detached_command_from(*answer);
}

Result<std::string> Session::read_log(const std::string& command, int stream, std::uint64_t& offset) const {
  keeper::SessionsRequest request;
  request.what = keeper::SessionsRequest::What::read;
  request.stream = stream;
  request.offset = offset;
  const auto answer = host_->impl_->ask(std::move(request), name_, command);
  if (!answer) return unexpected(answer.error());
  return host::log_part_from(*answer, offset);
}

Result<void> Session::signal(const std::string& command, int number) const {
  keeper::SessionsRequest request;
  request.what = keeper::SessionsRequest::What::signal;
  request.number = number;
  const auto answer = host_->impl_->ask(std::move(request), name_, command);
  if (!answer) return unexpected(answer.error());
  return {};
}

Result<std::size_t> Session::write_input(const std::string& command, std::string_view data) const {
  if (data.empty()) return 0;
  constexpr std::size_t kMost = 64UL * 1024;  // a pipe has no room for more
  keeper::SessionsRequest request;
  request.what = keeper::SessionsRequest::What::write;
  request.data = data.substr(0, kMost);
  const auto answer = host_->impl_->ask(std::move(request), name_, command);
  if (!answer) return unexpected(answer.error());
  return host::taken_from(*answer);
}

Result<void> Session::close_input(const std::string& command) const {
  keeper::SessionsRequest request;
  request.what = keeper::SessionsRequest::What::write;
  const auto answer = host_->impl_->ask(std::move(request), name_, command);
  if (!answer) return unexpected(answer.error());
  return {};
}

Result<void> Session::stop(bool purge) const { return host_->stop_session(name_, purge); }

Result<std::string> ExecHost::backends_json() {
  if (impl_->core.on_reactor_thread()) return unexpected(on_reactor_failure());
  if (auto ready = impl_->core.ready(); !ready) return unexpected(ready.error());
  auto found = host::look_at_backends(impl_->core, Request{}, true);
  if (!found) return unexpected(found.error());
  return host::backends_to_json(*found).dump();
}

}  // namespace exechost
