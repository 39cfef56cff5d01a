// Admission as one ExecHost does it: the pure decision, what a person has allowed for the session, and
// the way to that person.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/admission/admission.hpp"
#include "core/admission/asker.hpp"

namespace exechost::admission {

// [any thread]
class Gate {
 public:
  explicit Gate(Approver approver) : asker_(std::move(approver)) {}

  bool can_ask() const { return asker_.can_ask(); }
  Decision decide(const plan::Plan& plan, const Rules& rules) const;
  // As Asker::ask.
  void ask(AdmissionQuestion question, std::stop_token stop, std::function<void(Answer)> handler) {
    asker_.ask(std::move(question), std::move(stop), std::move(handler));
  }
  void remember(SessionGrant grant);

 private:
  mutable std::mutex mutex_;
  std::vector<SessionGrant> granted_;  // guarded by mutex_
  Asker asker_;
};

// Why a plan does not go ahead as things stand: it is denied, or it needs a question and nobody can be
// asked. Nothing: it may, or somebody has to be asked first. Of a plan for a weaker place it is the
// reason why the chosen backend can't be used.
std::optional<Failure> refused_without_asking(const plan::Plan& plan, const Decision& decision, bool can_ask);

// The failure that an answer other than once and session means.
Failure refused_by(const plan::Plan& plan, const Asked& asked, Answer answer);

}  // namespace exechost::admission
