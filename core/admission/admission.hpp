// Decides whether a plan may go ahead. The sandbox tier's boundary protects, so nobody is asked about
// it; the node tier has none, so its rules and a person decide. A plan for a weaker place than was
// chosen is asked about whatever the tier, once, and the answer covers the tier's own rules.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/admission/rules.hpp"
#include "core/plan/plan.hpp"
#include "exechost/approver.hpp"
#include "exechost/failure.hpp"

namespace exechost::admission {

struct Allowed {
  std::string by;  // the rule, in words
};
struct Denied {
  std::string by;    // the rule
  std::string hint;  // what would allow it: one exact command where there is one
};
struct Asked {
  AdmissionQuestion question;  // without its deadline
  std::string by;              // the rule that asks
  std::string hint;            // what would allow it without a question
};
using Decision = std::variant<Allowed, Denied, Asked>;

// What a person allowed for as long as the ExecHost lives: exactly these words, with these variables, there.
struct SessionGrant {
  std::string tier;
  std::string backend;
  std::vector<std::string> argv;
  std::string cwd;
  std::map<std::string, std::string> environment;
  nlohmann::json place;  // what an environment is made from: view, network, image, limits, settings of the backend
  std::vector<plan::ViewCheck> files;  // that the view names
  bool operator==(const SessionGrant&) const = default;
};

// Pure. [any thread]
Decision decide(const plan::Plan& plan, const Rules& rules, const std::vector<SessionGrant>& granted);

SessionGrant grant_of(const plan::Plan& plan);

// `denied` with phase admission.
Failure refusal(const plan::Plan& plan, std::string_view by, std::string hint);

}  // namespace exechost::admission
