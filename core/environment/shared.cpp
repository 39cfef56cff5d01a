#include "core/environment/shared.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/environment/open_request.hpp"
#include "core/environment/session_place.hpp"
#include "core/plan/plan.hpp"

namespace exechost::environment {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostIdle = 8;
constexpr std::size_t kMostKnown = 4;
constexpr auto kCloseTime = std::chrono::seconds(10);

Acquired keeper_gone() {
  Acquired acquired;
  acquired.failure.kind = FailureKind::plugin_crashed;
  acquired.failure.phase = Phase::provision;
  acquired.failure.step = "open";
  acquired.failure.message = "the keeper has ended";
  return acquired;
}

// One environment, from before it is open until it is given up.
struct Shared {
  Shared(boost::asio::io_context& context, std::string made_for) : place(std::move(made_for)), idle_timer(context) {}

  struct Waiter {
    EnvironmentSource::Ticket ticket = 0;
    EnvironmentRequest request;
    std::function<void(Acquired)> handler;
  };

  std::string place;
  OpenPlaces::Number number = 0;
  Lease lease;
  bool open = false;
  Ticket opening = 0;  // the keeper's
  std::vector<Waiter> waiters;
  std::size_t users = 0;
  bool given_up = false;  // nobody gets it any more
  steady_clock::time_point idle_since;
  steady_clock::time_point expires;
  std::chrono::milliseconds idle_timeout{0};
  boost::asio::steady_timer idle_timer;
};

class SharedEnvironments final : public EnvironmentSource, public std::enable_shared_from_this<SharedEnvironments> {
 public:
  SharedEnvironments(Reactor& reactor, const std::shared_ptr<KeeperPort>& keeper, std::shared_ptr<OpenPlaces> places)
      : reactor_(reactor), keeper_(keeper), places_(std::move(places)) {}

  Ticket acquire(EnvironmentRequest request, std::function<void(Acquired)> handler) override {
    const Ticket ticket = next_++;
    std::string place = place_for(request);
    Shared* shared = find(place);
    if (shared != nullptr && shared->open) {
      give(*shared, handler);
      return ticket;
    }
    if (shared == nullptr) shared = &add(std::move(place));
    shared->waiters.push_back({ticket, std::move(request), std::move(handler)});
    if (shared->opening == 0) open(*shared);
    return ticket;
  }

  void cancel(Ticket acquisition) override {
    for (auto& shared : environments_) {
      const auto found = std::find_if(shared->waiters.begin(), shared->waiters.end(),
                                      [acquisition](const auto& waiter) { return waiter.ticket == acquisition; });
      if (found == shared->waiters.end()) continue;
      // The last one waits until nothing is being made any more: its handler is called with the keeper's answer.
      if (const auto keeper = keeper_.lock(); shared->waiters.size() == 1 && keeper)
        return keeper->cancel(shared->opening);
      auto handler = std::move(found->handler);
      shared->waiters.erase(found);
      Acquired cancelled;
      cancelled.status = keeper::ReplyStatus::cancelled;
      reactor_.post([handler = std::move(handler), cancelled] { handler(cancelled); });
      return;
    }
  }

  void release(const Lease& lease, Release how, std::int64_t deadline_ns,
               std::function<void(keeper::Reply)> handler) override {
    const auto found =
        std::find_if(environments_.begin(), environments_.end(), [&lease](const std::shared_ptr<Shared>& shared) {
          return shared->open && shared->lease.environment == lease.environment;
        });
    if (found == environments_.end()) return answer(std::move(handler));  // given up and closed by another's release
    const std::shared_ptr<Shared> shared = *found;
    --shared->users;
    if (how == Release::destroy) {
      // Whatever else runs in it goes with it: something of this one may be left.
      environments_.erase(found);
      return close(*shared, deadline_ns, std::move(handler));
    }
    if (shared->users == 0) become_idle(shared);
    answer(std::move(handler));
  }

 private:
  // Most requests have the plan of one before.
  std::string place_for(const EnvironmentRequest& request) {
    for (const Known& known : known_) {
      if (known.plan == request.plan && known.plugin == request.plugin && known.guest_path == request.guest_path)
        return known.place;
    }
    known_.push_front({request.plan, request.plugin, request.guest_path, place_of(request)});
    if (known_.size() > kMostKnown) known_.pop_back();
    return known_.front().place;
  }

  Shared* find(const std::string& place) {
    const auto now = steady_clock::now();
    for (const auto& shared : environments_) {
      if (shared->open && !shared->given_up && now >= shared->expires) retire(shared);
      if (shared->place == place && !shared->given_up) return shared.get();
    }
    return nullptr;
  }

  Shared& add(std::string place) {
    environments_.push_back(std::make_shared<Shared>(reactor_.context(), std::move(place)));
    return *environments_.back();
  }

  void give(Shared& shared, std::function<void(Acquired)> handler) {
    ++shared.users;
    shared.idle_timer.cancel();
    Acquired acquired;
    acquired.status = keeper::ReplyStatus::ok;
    acquired.lease = shared.lease;
    acquired.lease.reused = true;
    reactor_.post([handler = std::move(handler), acquired] { handler(acquired); });
  }

  // For the first that waits, with its deadline.
  void open(Shared& shared) {
    const EnvironmentRequest& request = shared.waiters.front().request;
    keeper::OpenRequest message = open_request(request, true);
    const auto keeper = keeper_.lock();
    if (!keeper)
      return reactor_.post([weak = weak_from_this(), place = &shared] {
        if (const auto self = weak.lock()) self->opened(place, keeper_gone());
      });
    shared.opening = keeper->open(
        message, [weak = weak_from_this(), place = &shared, backend = request.plan->backend](keeper::Reply reply) {
          if (const auto self = weak.lock()) self->opened(place, acquired_from(std::move(reply), backend));
        });
  }

  void opened(const Shared* which, Acquired acquired) {
    const auto found = std::find_if(environments_.begin(), environments_.end(),
                                    [which](const auto& shared) { return shared.get() == which; });
    if (found == environments_.end()) return;
    const std::shared_ptr<Shared> shared = *found;
    shared->opening = 0;
    auto waiters = std::exchange(shared->waiters, {});
    if (acquired.status == keeper::ReplyStatus::ok) {
      shared->open = true;
      shared->lease = acquired.lease;
      shared->lease.served = waiters.front().request.plan->guest != plan::GuestEntry::none;
      const plan::Plan& plan = *waiters.front().request.plan;
      shared->idle_timeout = plan.idle_timeout;
      shared->expires = steady_clock::now() + plan.max_lifetime;
      const OpenPlaces::Opened opened = places_->open(shared->place);
      shared->number = opened.number;
      acquired.lease = shared->lease;
      acquired.lease.replaces_lost = opened.replaces_lost;
      shared->users = waiters.size();
      for (auto& waiter : waiters) {
        waiter.handler(acquired);
        acquired.lease.replaces_lost = false;  // said once
      }
      return;
    }
    // The first one's time was up or it gave up: the others have not.
    const bool only_the_first = acquired.status != keeper::ReplyStatus::failed;
    environments_.erase(found);
    for (std::size_t i = 0; i < waiters.size(); ++i) {
      if (i == 0 || !only_the_first) {
        waiters[i].handler(acquired);
      } else {
        Shared* next = find(shared->place);
        if (next == nullptr) next = &add(shared->place);
        next->waiters.push_back(std::move(waiters[i]));
        if (next->opening == 0) open(*next);
      }
    }
  }

  void become_idle(const std::shared_ptr<Shared>& shared) {
    shared->idle_since = steady_clock::now();
    if (shared->given_up || shared->idle_since >= shared->expires) return retire(shared);
    shared->idle_timer.expires_at(std::min(shared->idle_since + shared->idle_timeout, shared->expires));
    shared->idle_timer.async_wait(
        [weak = weak_from_this(), which = std::weak_ptr(shared)](const boost::system::error_code& error) {
          const auto self = weak.lock();
          const auto idle = which.lock();
          if (!error && self && idle && idle->users == 0) self->retire(idle);
        });
    const auto is_idle = [](const auto& other) { return other->open && other->users == 0 && !other->given_up; };
    if (static_cast<std::size_t>(std::count_if(environments_.begin(), environments_.end(), is_idle)) <= kMostIdle)
      return;
    std::shared_ptr<Shared> oldest = shared;
    for (const auto& other : environments_) {
      if (is_idle(other) && other->idle_since < oldest->idle_since) oldest = other;
    }
    retire(oldest);
  }

  // Not given out again; closed when nobody uses it.
  void retire(const std::shared_ptr<Shared>& shared) {
    shared->given_up = true;
    places_->give_up(shared->place, shared->number);
    if (shared->users != 0) return;
    shared->idle_timer.cancel();
    close(*shared, deadline_after(kCloseTime), [](const keeper::Reply&) {});
    // Perhaps in the middle of a walk over all of them.
    reactor_.post([weak = weak_from_this(), shared] {
      if (const auto self = weak.lock()) self->environments_.remove(shared);
    });
    shared->open = false;
  }

  void close(const Shared& shared, std::int64_t deadline_ns, std::function<void(keeper::Reply)> handler) {
    keeper::CloseRequest request;
    request.environment = shared.lease.environment;
    request.deadline_ns = deadline_ns;
    if (const auto keeper = keeper_.lock()) {
      keeper->close(request, std::move(handler));
    } else {
      answer(std::move(handler));  // its environments ended with it
    }
  }

  void answer(std::function<void(keeper::Reply)> handler) {
    keeper::Reply reply;
    reply.status = keeper::ReplyStatus::ok;
    reactor_.post([handler = std::move(handler), reply] { handler(reply); });
  }

  Reactor& reactor_;
  const std::weak_ptr<KeeperPort> keeper_;  // of a dead one nothing is left to close
  const std::shared_ptr<OpenPlaces> places_;
  struct Known {
    std::shared_ptr<const plan::Plan> plan;
    keeper::PluginChoice plugin;
    std::string guest_path;
    std::string place;
  };
  std::deque<Known> known_;  // the latest first
  std::list<std::shared_ptr<Shared>> environments_;
  Ticket next_ = 1;
};

}  // namespace

OpenPlaces::Opened OpenPlaces::open(const std::string& place) {
  const auto [at, is_new] = open_.insert_or_assign(place, ++last_);
  return {at->second, !is_new};
}

void OpenPlaces::give_up(const std::string& place, Number number) {
  const auto found = open_.find(place);
  if (found != open_.end() && found->second == number) open_.erase(found);
}

std::shared_ptr<EnvironmentSource> make_shared_environments(Reactor& reactor, const std::shared_ptr<KeeperPort>& keeper,
                                                            std::shared_ptr<OpenPlaces> places) {
  return std::make_shared<SharedEnvironments>(reactor, keeper, std::move(places));
}

}  // namespace exechost::environment
