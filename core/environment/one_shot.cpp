#include "core/environment/one_shot.hpp"

#include <utility>

#include "core/plan/plan.hpp"

namespace exechost::environment {
namespace {

Failure bad_open_reply(const std::string& backend) {
  Failure failure;
  failure.kind = FailureKind::protocol_error;
  failure.phase = Phase::provision;
  failure.step = "open";
  failure.backend = backend;
  failure.message = "the keeper's answer to open names no environment";
  return failure;
}

Acquired acquired_from(keeper::Reply reply, const std::string& backend) {
  Acquired acquired;
  acquired.status = reply.status;
  acquired.failure = std::move(reply.failure);
  if (reply.status != keeper::ReplyStatus::ok) return acquired;
  const auto& body = reply.body;
  const auto number = body.is_object() ? body.find("environment") : body.end();
  if (number == body.end() || !number->is_number_unsigned()) {
    acquired.status = keeper::ReplyStatus::failed;
    acquired.failure = bad_open_reply(backend);
    return acquired;
  }
  acquired.lease.environment = number->get<std::uint64_t>();
  const auto id = body.find("id");
  if (id != body.end() && id->is_string()) acquired.lease.id = id->get<std::string>();
  return acquired;
}

class OneShot : public EnvironmentSource {
 public:
  explicit OneShot(std::shared_ptr<KeeperPort> keeper) : keeper_(std::move(keeper)) {}

  Ticket acquire(EnvironmentRequest request, std::function<void(Acquired)> handler) override {
    plan::OpenIdentity identity;  // id, name and labels are the ledger's to give
    identity.deadline_ns = request.deadline_ns;
    identity.guest_path = request.guest_path;
    keeper::OpenRequest open;
    open.document = plan::open_document(*request.plan, identity);
    open.plugin = std::move(request.plugin);
    open.deadline_ns = request.deadline_ns;
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
