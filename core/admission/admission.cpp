#include "core/admission/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/plan/shell_words.hpp"

namespace exechost::admission {
namespace {

const std::vector<std::string>& lost_on_the_host() {
  static const std::vector<std::string> lost{
      "files: it reads, changes and deletes every file that you can",
      "network: it reaches every address that this machine does",
      "processes: it sees and signals your other processes",
      "limits: memory, processor and processes are not bounded",
  };
  return lost;
}

AdmissionQuestion question_about(const plan::Plan& plan) {
  AdmissionQuestion question;
  question.tier = plan.tier;
  question.backend = plan.backend;
  question.argv = plan.argv;
  question.command = plan::shell_line(plan.argv);
  question.cwd = plan.cwd;
  if (plan.degraded) {
    question.isolation_lost = plan.degraded->lost;
  } else {
    question.isolation_lost = lost_on_the_host();
  }
  return question;
}

// The one command that puts this one on the user's list.
std::string allow_hint(const plan::Plan& plan) {
  const bool storable =
      std::all_of(plan.argv.begin(), plan.argv.end(), [](const std::string& word) { return is_valid_utf8(word); });
  if (!storable)
    return "a command that is not valid UTF-8 can't be put on a list; run it at a terminal, where a person is asked";
  return fmt::format("to allow exactly this command: exechost approvals allow --tier node -- {}",
                     plan::shell_line(plan.argv));
}

Asked ask(const plan::Plan& plan, std::string by, std::string hint) {
  Asked asked{question_about(plan), std::move(by), std::move(hint)};
  asked.question.why = asked.by;
  return asked;
}

constexpr const char* kGranted = "a person allowed the command for this session";

// One question for both: where it would run instead, and whether it may run there.
Asked ask_about_weaker_place(const plan::Plan& plan) {
  const plan::Degraded& degraded = *plan.degraded;
  return ask(plan, fmt::format("backend \"{}\" can't be used: {}", degraded.wanted, degraded.reason.message),
             degraded.reason.hint);
}

Decision decide_node(const plan::Plan& plan, const TierRules& rules, bool granted) {
  if (rules.security == Security::deny) {
    return Denied{fmt::format("admission.node.security is deny (from {})", rules.security_origin),
                  "use the sandbox tier (leave out --backend local, --tier node and TERMINAL_ENV=local)"};
  }
  if (rules.ask == Ask::always) {
    if (plan.degraded) return ask_about_weaker_place(plan);
    return ask(plan, fmt::format("admission.node.ask is always (from {})", rules.ask_origin),
               "only a person's answer allows it");
  }
  const bool full = rules.security == Security::full;
  const bool listed = std::find(rules.allow.begin(), rules.allow.end(), plan.argv) != rules.allow.end();
  if (rules.ask == Ask::off && !full && !listed && !granted) {
    return Denied{fmt::format("admission.node.allow does not name the command, and admission.node.ask is off (from {})",
                              rules.ask_origin),
                  allow_hint(plan)};
  }
  // Neither a rule nor a list has agreed to the place: only a person does.
  if (plan.degraded && !granted) return ask_about_weaker_place(plan);
  if (full) return Allowed{fmt::format("admission.node.security is full (from {})", rules.security_origin)};
  if (listed) return Allowed{fmt::format("admission.node.allow names the command (from {})", rules.allow_origin)};
  if (granted) return Allowed{kGranted};
  return ask(plan, "admission.node.allow does not name the command", allow_hint(plan));
}

}  // namespace

Decision decide(const plan::Plan& plan, const Rules& rules, const std::vector<SessionGrant>& granted) {
  const bool is_granted =
      !granted.empty() && std::find(granted.begin(), granted.end(), grant_of(plan)) != granted.end();
  if (plan.tier == "node") return decide_node(plan, rules.node, is_granted);
  if (plan.tier == "sandbox") {
    if (!plan.degraded) return Allowed{"the sandbox tier isolates the command"};
    if (is_granted) return Allowed{kGranted};
    return ask_about_weaker_place(plan);
  }
  if (plan.tier == "gateway") return Allowed{"the gateway tier starts no command and stays in the workspace"};
  // A plan for another tier that came here must not run under rules that are not its own.
  return Denied{fmt::format("tier \"{}\" has no admission rules, so nothing is admitted to it", plan.tier),
                "use the sandbox tier"};
}

SessionGrant grant_of(const plan::Plan& plan) {
  return {plan.tier,
          plan.backend,
          plan.argv,
          plan.cwd,
          plan.environment,
          plan::open_document(plan, {}),
          plan.confinement.view_checks};
}

Failure refusal(const plan::Plan& plan, std::string_view by, std::string hint) {
  Failure failure;
  failure.kind = FailureKind::denied;
  failure.phase = Phase::admission;
  failure.message = fmt::format("not allowed in the {} tier: {}", plan.tier, by);
  failure.hint = std::move(hint);
  failure.backend = plan.backend;
  return failure;
}

}  // namespace exechost::admission
