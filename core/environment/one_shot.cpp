#include "core/environment/one_shot.hpp"

#include <utility>

#include "core/environment/open_request.hpp"

namespace exechost::environment {
namespace {

class OneShot : public EnvironmentSource {
 public:
  explicit OneShot(std::shared_ptr<KeeperPort> keeper) : keeper_(std::move(keeper)) {}

  Ticket acquire(EnvironmentRequest request, std::function<void(Acquired)> handler) override {
    const keeper::OpenRequest open = open_request(request, false);
    return keeper_->open(open, [handler = std::move(handler), backend = request.plan->backend](keeper::Reply reply) {
      handler(acquired_from(std::move(reply), backend));
    });
  }

  void cancel(Ticket acquisition) override { keeper_->cancel(acquisition); }

  void release(const Lease& lease, Release, std::int64_t deadline_ns,
               std::function<void(keeper::Reply)> handler) override {
    keeper::CloseRequest close;
    close.environment = lease.environment;
    close.deadline_ns = deadline_ns;
    keeper_->close(close, std::move(handler));
  }

 private:
  std::shared_ptr<KeeperPort> keeper_;
};

}  // namespace

std::shared_ptr<EnvironmentSource> make_one_shot(std::shared_ptr<KeeperPort> keeper) {
  return std::make_shared<OneShot>(std::move(keeper));
}

}  // namespace exechost::environment
