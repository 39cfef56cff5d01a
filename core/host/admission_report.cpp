#include "core/host/admission_report.hpp"

#include <fmt/format.h>

#include "core/base/utf8.hpp"

namespace exechost::host {
namespace {

struct Words {
  const char* decision;
  std::string by;
  std::string hint;
};

Words words_of(const admission::Decision& decision) {
  if (const auto* allowed = std::get_if<admission::Allowed>(&decision)) return {"allowed", allowed->by, ""};
  if (const auto* asked = std::get_if<admission::Asked>(&decision)) return {"ask", asked->by, asked->hint};
  const auto& denied = std::get<admission::Denied>(decision);
  return {"denied", denied.by, denied.hint};
}

std::string shown(const std::string& text) { return escape_for_terminal(to_valid_utf8(text)); }

}  // namespace

nlohmann::json admission_json(const admission::Decision& decision) {
  const Words words = words_of(decision);
  return {{"decision", words.decision}, {"by", to_valid_utf8(words.by)}, {"hint", to_valid_utf8(words.hint)}};
}

std::string admission_text(const admission::Decision& decision) {
  const Words words = words_of(decision);
  std::string text = fmt::format("admission       {}: {}\n", words.decision, shown(words.by));
  if (!words.hint.empty()) text += fmt::format("                {}\n", shown(words.hint));
  return text;
}

}  // namespace exechost::host
