#include "core/plan/report.hpp"

#include <fmt/format.h>

#include "core/base/utf8.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::plan {

Failure plan_failure(FailureKind kind, std::string message, std::string hint, std::string backend) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::plan;
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  failure.backend = std::move(backend);
  return failure;
}

std::string quote(std::string_view text) { return fmt::format("\"{}\"", escape_for_terminal(to_valid_utf8(text))); }

Result<void> refuse_unless_best_effort(const settings::Settings& settings, std::string_view name, std::string message,
                                       std::vector<std::string>& warnings) {
  if (is_best_effort(settings, name)) {
    warnings.push_back(std::move(message));
    return {};
  }
  return unexpected(
      plan_failure(FailureKind::unsupported, std::move(message),
                   fmt::format("remove it, or accept that it is not enforced with best_effort [\"{}\"]", name)));
}

}  // namespace exechost::plan
