#include "core/keeper/named_sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/utf8.hpp"
#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

using std::chrono::steady_clock;

constexpr auto kCloseTime = std::chrono::seconds(3);  // for those that nobody waits for

std::string quoted(const std::string& text) { return "\"" + escape_for_terminal(to_valid_utf8(text)) + "\""; }

// The paths of a view and what follows from them: told only when nothing else is different, since a setting or
// another workspace is mostly why.
bool is_detail(const std::string& name) {
  return name.starts_with('/') || name.starts_with("what is at ") || name == "confinement";
}

// What is another one now, for a person.
std::string differences(const SessionChoice& there, const SessionChoice& wanted) {
  constexpr std::size_t kMostShown = 5;
  std::vector<std::string> found;
  std::vector<std::string> details;
  const auto add = [&](const std::string& name, const std::string& was, const std::string& is) {
    std::string text = name;
    if (!was.empty() || !is.empty()) text += fmt::format(" ({}, now {})", was, is);
    (is_detail(name) ? details : found).push_back(escape_for_terminal(to_valid_utf8(text)));
  };
  for (const auto& [name, part] : there.place) {
    const auto other = wanted.place.find(name);
    if (other == wanted.place.end()) {
      add(name, part.shown, part.shown.empty() ? "" : "none");
    } else if (other->second != part) {
      add(name, part.shown, other->second.shown);
    }
  }
  for (const auto& [name, part] : wanted.place) {
    if (!there.place.contains(name)) add(name, part.shown.empty() ? "" : "none", part.shown);
  }
  if (found.empty()) found = std::move(details);
  const std::size_t shown = std::min(found.size(), kMostShown);
  std::string text =
      fmt::format("{}", fmt::join(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (found.size() > shown) text += fmt::format(" and {} more", found.size() - shown);
  return text;
}

// Who joins is let into another view or workspace, never into another tier or backend: what was decided about the
// request holds for that one alone, and a node session isolates nothing.
bool fits(const SessionChoice& there, const SessionChoice& wanted) {
  if (there.place == wanted.place) return true;
  if (!wanted.join) return false;
  const auto same = [&](const char* name) {
    const auto was = there.place.find(name);
    const auto is = wanted.place.find(name);
    return was != there.place.end() && is != wanted.place.end() && was->second == is->second;
  };
  return same("tier") && same("backend");
}

// What to ask for, where one option makes the difference.
std::string same_place(const SessionChoice& there, const SessionChoice& wanted) {
  const auto was = there.place.find("workspace");
  const auto is = wanted.place.find("workspace");
  const bool another = was != there.place.end() && is != wanted.place.end() && was->second != is->second;
  if (!another || was->second.shown == is->second.shown) return "ask for the same place";
  return fmt::format("ask for the same place (--workspace {})", escape_for_terminal(to_valid_utf8(was->second.shown)));
}

Failure other_place(const SessionChoice& there, const SessionChoice& wanted) {
  return make_failure(FailureKind::invalid_request, Phase::provision,
                      fmt::format("session {} was opened for another place; different: {}", quoted(wanted.name),
                                  differences(there, wanted)),
                      "session", 0,
                      fmt::format("{}, choose another session name, or have it opened anew (--recreate): what runs in "
                                  "it then ends",
                                  same_place(there, wanted)));
}

std::int64_t milliseconds_since(steady_clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - then).count();
}

}  // namespace

NamedSessions::NamedSessions(std::shared_ptr<Core> core, WorkerPool& pool, SessionMarks marks,
                             std::function<void()> changed)
    : core_(std::move(core)),
      loop_(core_, &core_->loop),
      changed_(std::move(changed)),
      operations_(loop_, pool),
      environments_(core_, operations_, changed_),
      pool_(pool),
      marks_(std::move(marks)) {
  operations_.when_empty(changed_);
}

NamedSessions::~NamedSessions() {
  for (const auto& [key, session] : sessions_) {
    loop_->cancel(session.idle_timer);
    loop_->cancel(session.lifetime_timer);
    if (session.environment) session.environment->on_idle = nullptr;
  }
}

// ---- opening ---------------------------------------------------------------------

void NamedSessions::open(Caller caller, std::uint64_t ticket, OpenRequest request, Answer answer) {
  const Key key{request.session->owner, request.session->name};
  Waiter waiter{caller, ticket, std::move(request), std::move(answer)};
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) {
    Session& session = sessions_[key];
    session.choice = *waiter.request.session;
    session.backend = waiter.request.plugin.id;
    session.waiters.push_back(std::move(waiter));
    return begin_opening(key);
  }
  Session& session = found->second;
  const bool closing = session.environment && session.environment->closing;
  if (closing || fits(session.choice, *waiter.request.session)) {
    if (session.environment && !closing) return give(session, waiter, true);
    session.waiters.push_back(std::move(waiter));  // what is being opened, or what comes after what is being closed
    return;
  }
  if (!waiter.request.session->recreate || !session.environment) {
    return answer_failed(waiter, other_place(session.choice, *waiter.request.session));
  }
  session.waiters.push_back(std::move(waiter));
  close(key, false, deadline_after(kCloseTime), [](const CallResult&) {});
}

// For the first that waits, with its deadline.
void NamedSessions::begin_opening(const Key& key) {
  Session& session = sessions_.at(key);
  const OpenRequest& request = session.waiters.front().request;
  session.choice = *request.session;
  session.backend = request.plugin.id;
  // Its number is known only afterwards; neither handler is called before.
  const auto id = std::make_shared<Operations::Id>(0);
  auto begun =
      operations_.begin(request.deadline_ns, fmt::format("backend \"{}\", opening an environment,", request.plugin.id),
                        [this, key, id](const Operations::Ending& ending) { opened(key, *id, ending, nullptr); });
  if (!begun) {
    Operations::Ending ending;
    ending.result = CallResult::failed(begun.error());
    return opened(key, 0, ending, nullptr);
  }
  session.opening = *id = *begun;
  environments_.open(
      *begun, request,
      [this, key, id](const Operations::Ending& ending, const std::shared_ptr<Environment>& environment) {
        opened(key, *id, ending, environment);
      });
}

void NamedSessions::opened(const Key& key, Operations::Id id, const Operations::Ending& ending,
                           const std::shared_ptr<Environment>& environment) {
  const auto found = sessions_.find(key);
  const bool wanted = found != sessions_.end() && !found->second.environment && found->second.opening == id;
  // It comes too late: it was given up before, or those who wanted it have stopped.
  if (environment && (!wanted || ending.stopped)) {
    environments_.end(environment, false, deadline_after(kCloseTime), [](const CallResult&) {});
  }
  if (!wanted) return;
  Session& session = found->second;
  session.opening = 0;
  if (environment && !ending.stopped) {
    session.environment = environment;
    session.since = session.idle_since = steady_clock::now();
    session.lifetime_timer = loop_->at(deadline_after(session.choice.max_lifetime), [this, key] {
      const auto old = sessions_.find(key);
      if (old == sessions_.end()) return;
      old->second.lifetime_timer = 0;
      close(key, false, deadline_after(kCloseTime), [](const CallResult&) {});
    });
    environment->on_idle = [this, key] { look_whether_idle(key); };
    auto waiters = std::exchange(session.waiters, {});
    marks_.add(key.first, key.second);
    const bool lost = marks_.take_lost(key.first, key.second);
    bool reused = false;
    for (Waiter& waiter : waiters) {
      if (fits(session.choice, *waiter.request.session)) {
        give(session, waiter, std::exchange(reused, true), lost);
      } else {
        answer_failed(waiter, other_place(session.choice, *waiter.request.session));
      }
    }
    return look_whether_idle(key);
  }
  // A time-out and a cancellation are the first one's own; a failure is everybody's.
  auto waiters = std::exchange(session.waiters, {});
  const bool only_the_first = ending.stopped || ending.result.status != ReplyStatus::failed;
  std::list<Waiter> others;
  if (only_the_first && !waiters.empty())
    others.splice(others.end(), waiters, std::next(waiters.begin()), waiters.end());
  for (const Waiter& waiter : waiters) {
    Reply reply;
    reply.status = ending.result.status == ReplyStatus::ok ? ending.stop_status : ending.result.status;
    reply.failure = ending.result.failure;
    waiter.answer(std::move(reply));
  }
  if (others.empty()) {
    sessions_.erase(key);
    return changed_();
  }
  session.waiters = std::move(others);
  begin_opening(key);
}

void NamedSessions::give(Session& session, Waiter& waiter, bool reused, bool lost) {
  ++session.users[waiter.caller];
  loop_->cancel(std::exchange(session.idle_timer, 0));
  Reply reply;
  reply.status = ReplyStatus::ok;
  reply.body = {
      {"environment", session.environment->number},
      {"id", session.environment->id},
      {"init", session.environment->init},
      {"reused", reused},
      {"workspace", nlohmann::json::binary({session.choice.workspace.begin(), session.choice.workspace.end()})},
      {"lost", lost && !reused}};
  waiter.answer(std::move(reply));
}

void NamedSessions::answer_failed(const Waiter& waiter, Failure failure) {
  Reply reply;
  reply.failure = std::move(failure);
  waiter.answer(std::move(reply));
}

void NamedSessions::cancel(Caller caller, std::uint64_t ticket) {
  for (auto& [key, session] : sessions_) {
    const auto found = std::find_if(session.waiters.begin(), session.waiters.end(), [&](const Waiter& waiter) {
      return waiter.caller == caller && waiter.ticket == ticket;
    });
    if (found == session.waiters.end()) continue;
    // The last one waits until nothing is being made any more.
    if (session.waiters.size() == 1 && session.opening != 0) return operations_.cancel(session.opening);
    const Waiter waiter = std::move(*found);
    session.waiters.erase(found);
    Reply reply;
    reply.status = ReplyStatus::cancelled;
    return waiter.answer(std::move(reply));
  }
}

// ---- using -----------------------------------------------------------------------

std::map<NamedSessions::Key, NamedSessions::Session>::iterator NamedSessions::session_of(
    const Environment* environment) {
  return std::find_if(sessions_.begin(), sessions_.end(),
                      [environment](const auto& item) { return item.second.environment.get() == environment; });
}

std::shared_ptr<Environment> NamedSessions::used_by(Caller caller, std::uint64_t number) const {
  const auto found = std::find_if(sessions_.begin(), sessions_.end(), [number](const auto& item) {
    return item.second.environment && item.second.environment->number == number;
  });
  if (found == sessions_.end() || !found->second.users.contains(caller)) return nullptr;
  return found->second.environment;
}

void NamedSessions::release(Caller caller, const std::shared_ptr<Environment>& environment) {
  const auto found = session_of(environment.get());
  if (found == sessions_.end()) return;
  const auto user = found->second.users.find(caller);
  if (user == found->second.users.end()) return;
  if (--user->second == 0) found->second.users.erase(user);
  look_whether_idle(found->first);
}

void NamedSessions::host_is_gone(Caller caller) {
  std::vector<Key> keys;
  for (const auto& [key, session] : sessions_) keys.push_back(key);
  for (const Key& key : keys) {
    const auto found = sessions_.find(key);
    if (found == sessions_.end()) continue;
    Session& session = found->second;
    const bool first_waited = !session.waiters.empty() && session.waiters.front().caller == caller;
    session.waiters.remove_if([caller](const Waiter& waiter) { return waiter.caller == caller; });
    // What is being opened is opened for the others; for nobody it is given up.
    if (first_waited && session.waiters.empty() && session.opening != 0) operations_.cancel(session.opening);
    if (session.users.erase(caller) != 0) look_whether_idle(key);
  }
}

// Counted from the end of the last activity: nobody uses it, and nothing runs in it.
void NamedSessions::look_whether_idle(const Key& key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  if (!session.environment || session.environment->closing) return;
  if (!session.users.empty() || !session.environment->running.empty()) return;
  session.idle_since = steady_clock::now();
  loop_->cancel(session.idle_timer);
  session.idle_timer = loop_->at(deadline_after(session.choice.idle_timeout), [this, key] {
    const auto idle = sessions_.find(key);
    if (idle == sessions_.end()) return;
    idle->second.idle_timer = 0;
    if (!idle->second.users.empty() || !idle->second.environment || !idle->second.environment->running.empty()) return;
    close(key, false, deadline_after(kCloseTime), [](const CallResult&) {});
  });
}

// ---- closing ---------------------------------------------------------------------

void NamedSessions::destroy(const std::shared_ptr<Environment>& environment, bool purge, std::int64_t deadline_ns,
                            Environments::Closed closed) {
  const auto found = session_of(environment.get());
  if (found != sessions_.end()) {
    if (!environment->closing) found->second.lost = true;
    return close(found->first, purge, deadline_ns, std::move(closed));
  }
  CallResult gone;  // by another's wish
  gone.status = ReplyStatus::ok;
  closed(gone);
}

void NamedSessions::close(const Key& key, bool purge, std::int64_t deadline_ns, Environments::Closed closed) {
  Session& session = sessions_.at(key);
  loop_->cancel(std::exchange(session.idle_timer, 0));
  loop_->cancel(std::exchange(session.lifetime_timer, 0));
  const auto environment = session.environment;
  const bool first = !environment->closing;
  environments_.end(environment, purge, deadline_ns,
                    // A copy: the key may be the map's own, which goes with the session.
                    [this, kept = key, environment, first, tell = std::move(closed)](const CallResult& result) {
                      tell(result);
                      if (first) this->closed(kept, environment.get(), result);
                    });
}

void NamedSessions::closed(const Key& key, const Environment* environment, const CallResult& result) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end() || found->second.environment.get() != environment) return;
  Session& session = found->second;
  session.environment->on_idle = nullptr;
  session.users.clear();
  session.environment.reset();
  if (std::exchange(session.lost, false)) {
    marks_.lose(key.first, key.second);
  } else {
    marks_.remove(key.first, key.second);
  }
  forget_commands_later(key);
  // One that could not be closed is not given out again either; its ledger entry stays.
  if (session.waiters.empty()) {
    sessions_.erase(found);
    return changed_();
  }
  if (result.status == ReplyStatus::ok) return begin_opening(key);
  const auto waiters = std::exchange(session.waiters, {});
  sessions_.erase(found);
  for (const Waiter& waiter : waiters) {
    Failure failure = result.failure;
    failure.message = fmt::format("session {} could not be closed: {}", quoted(key.second),
                                  failure.message.empty() ? "no answer in time" : failure.message);
    failure.kind = FailureKind::provision_failed;
    failure.phase = Phase::provision;
    answer_failed(waiter, std::move(failure));
  }
  changed_();
}

nlohmann::json NamedSessions::list(const std::string& owner) const {
  nlohmann::json sessions = nlohmann::json::array();
  for (const auto& [key, session] : sessions_) {
    if (key.first != owner) continue;
    const bool open = session.environment != nullptr;
    const bool idle = open && session.users.empty() && session.environment->running.empty();
    nlohmann::json writable = nlohmann::json::array();
    for (const std::string& path : session.choice.writable)
      writable.push_back(nlohmann::json::binary({path.begin(), path.end()}));
    const char* const state = !open ? "opening" : session.environment->closing ? "closing" : idle ? "idle" : "running";
    sessions.push_back({{"name", to_valid_utf8(key.second)},
                        {"owner", to_valid_utf8(key.first)},
                        {"backend", session.backend},
                        {"state", state},
                        {"running", open ? session.environment->running.size() : 0},
                        {"age_ms", open ? milliseconds_since(session.since) : 0},
                        {"idle_ms", idle ? milliseconds_since(session.idle_since) : 0},
                        {"idle_timeout_ms", session.choice.idle_timeout.count()},
                        {"max_lifetime_ms", session.choice.max_lifetime.count()},
                        {"environment_id", open ? session.environment->id : ""},
                        {"workspace", to_valid_utf8(session.choice.workspace)},
                        {"writable", std::move(writable)},
                        {"commands", describe_all(key)}});
  }
  // Those that have ended, but not what their commands said.
  for (const auto& [key, commands] : commands_) {
    if (key.first != owner || sessions_.contains(key)) continue;
    sessions.push_back({{"name", to_valid_utf8(key.second)},
                        {"owner", to_valid_utf8(key.first)},
                        {"backend", ""},
                        {"state", "ended"},
                        {"running", 0},
                        {"age_ms", 0},
                        {"idle_ms", 0},
                        {"environment_id", ""},
                        {"commands", describe_all(key)}});
  }
  return sessions;
}

void NamedSessions::stop(const std::string& owner, const std::string& name, bool purge, std::int64_t deadline_ns,
                         Environments::Closed closed) {
  const auto found = sessions_.find({owner, name});
  const bool remembered = commands_.erase({owner, name}) != 0;
  if (found == sessions_.end() && remembered) {
    CallResult forgotten;
    forgotten.status = ReplyStatus::ok;
    closed(forgotten);
    return changed_();
  }
  if (found == sessions_.end()) {
    return closed(CallResult::failed(make_failure(FailureKind::invalid_request, Phase::cleanup,
                                                  fmt::format("there is no session {}", quoted(name)), "session", 0,
                                                  "`exechost ps` lists those there are")));
  }
  if (!found->second.environment) {  // being opened: it ends when that does
    if (found->second.opening != 0) operations_.cancel(found->second.opening);
    CallResult stopped;
    stopped.status = ReplyStatus::ok;
    return closed(stopped);
  }
  close(found->first, purge, deadline_ns, std::move(closed));
}

void NamedSessions::end_all(std::int64_t deadline_ns) {
  commands_.clear();
  std::vector<Key> keys;
  for (const auto& [key, session] : sessions_) keys.push_back(key);
  for (const Key& key : keys) {
    const auto found = sessions_.find(key);
    if (found == sessions_.end()) continue;
    if (found->second.environment) {
      close(key, false, deadline_ns, [](const CallResult&) {});
    } else if (found->second.opening != 0) {
      operations_.cancel(found->second.opening);
    }
  }
}

}  // namespace exechost::keeper
