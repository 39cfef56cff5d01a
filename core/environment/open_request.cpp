#include "core/environment/open_request.hpp"

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

}  // namespace

keeper::OpenRequest open_request(const EnvironmentRequest& request, bool serve) {
  plan::OpenIdentity identity;  // id, name and labels are the ledger's to give
  identity.deadline_ns = request.deadline_ns;
  identity.guest_path = request.guest_path;
  keeper::OpenRequest open;
  open.document = plan::open_document(*request.plan, identity);
  open.plugin = request.plugin;
  open.deadline_ns = request.deadline_ns;
  // Without descriptors there is no other way to reach a guest, even for one command.
  open.stream = request.plan->guest == plan::GuestEntry::stream;
  open.serve = open.stream || (serve && request.plan->guest != plan::GuestEntry::none);
  if (open.serve) open.confinement = request.plan->confinement;
  return open;
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
  const auto reused = body.find("reused");
  acquired.lease.reused = reused != body.end() && reused->is_boolean() && reused->get<bool>();
  const auto lost = body.find("lost");
  acquired.lease.replaces_lost = lost != body.end() && lost->is_boolean() && lost->get<bool>();
  const auto workspace = body.find("workspace");
  if (workspace != body.end() && workspace->is_binary()) {
    const auto& bytes = workspace->get_binary();
    acquired.lease.workspace.assign(bytes.begin(), bytes.end());
  }
  const auto id = body.find("id");
  if (id != body.end() && id->is_string()) acquired.lease.id = id->get<std::string>();
  return acquired;
}

}  // namespace exechost::environment
