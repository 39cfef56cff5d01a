#include "core/environment/named.hpp"

#include <utility>

#include "core/environment/open_request.hpp"
#include "core/environment/session_place.hpp"
#include "core/plan/plan.hpp"

namespace exechost::environment {
namespace {

class Named final : public EnvironmentSource {
 public:
  Named(std::shared_ptr<KeeperPort> keeper, std::string owner, bool recreate)
      : keeper_(std::move(keeper)), owner_(std::move(owner)), recreate_(recreate) {}

  Ticket acquire(EnvironmentRequest request, std::function<void(Acquired)> handler) override {
    keeper::OpenRequest open = open_request(request, true);
    const plan::Plan& plan = *request.plan;
    keeper::SessionChoice& session = open.session.emplace();
    session.name = plan.session;
    session.owner = owner_;
    session.place = place_parts(request);
    session.idle_timeout = plan.idle_timeout;
    session.max_lifetime = plan.max_lifetime;
    session.recreate = recreate_;
    session.join = plan.builtin;
    session.workspace = plan.workspace;
    session.writable = writable_places(plan);
    return keeper_->open(
        open, [handler = std::move(handler), backend = plan.backend, served = open.serve](keeper::Reply reply) {
          Acquired acquired = acquired_from(std::move(reply), backend);
          acquired.lease.served = served;
          handler(std::move(acquired));
        });
  }

  void cancel(Ticket acquisition) override { keeper_->cancel(acquisition); }

  void release(const Lease& lease, Release how, std::int64_t deadline_ns,
               std::function<void(keeper::Reply)> handler) override {
    keeper::CloseRequest close;
    close.environment = lease.environment;
    close.keep = how == Release::intact;
    close.deadline_ns = deadline_ns;
    keeper_->close(close, std::move(handler));
  }

 private:
  const std::shared_ptr<KeeperPort> keeper_;
  const std::string owner_;
  const bool recreate_;
};

}  // namespace

std::shared_ptr<EnvironmentSource> make_named(std::shared_ptr<KeeperPort> keeper, std::string owner, bool recreate) {
  return std::make_shared<Named>(std::move(keeper), std::move(owner), recreate);
}

}  // namespace exechost::environment
