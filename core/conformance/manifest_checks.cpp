// Level 0: what the manifest promises about settings.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {
namespace {

// A slip in a name must not pass for a setting that is in force.
Verdict unknown_setting(Subject& subject) {
  Request request = subject.request({"/bin/true"});
  Subject::add_settings(request, {{"backends", {{subject.id(), {{"conformance_no_such_setting", 1}}}}}});
  const ExecResult result = subject.run(request);
  if (result.status == Status::failed && result.failure && result.failure->kind == FailureKind::invalid_request)
    return Verdict::passed();
  return Verdict::failed(
      fmt::format("a setting that it does not have: expected invalid_request, it {}", in_words(result)));
}

Verdict honest_about_image(Subject& subject) {
  if (subject.claims("image")) return Verdict::unchecked("which images there are is not known here");
  Request request = subject.request({"/bin/true"});
  Subject::add_settings(request, {{"image", "conformance/no-such-image:1"}});
  const ExecResult result = subject.run(request);
  if (result.status == Status::failed && result.started == Started::no) return Verdict::passed();
  return Verdict::failed(fmt::format("an image although none is claimed: expected a refusal, it {}", in_words(result)));
}

// A grade that is not known reads as unsupported, so that a slip loses a claim in silence.
Verdict known_grades(Subject& subject) {
  if (subject.is_node_tier()) return Verdict::unchecked("the node tier has no manifest");
  std::string manifest = subject.options().library;
  manifest.replace(manifest.size() - std::string_view("so").size(), std::string::npos, "json");
  const auto document = nlohmann::json::parse(read_file(manifest), nullptr, false);
  if (!document.is_object()) return Verdict::failed("the manifest can't be read again");
  const auto claims =
      document.value(nlohmann::json::json_pointer("/capabilities/capabilities"), nlohmann::json::object());
  for (const auto& [name, claim] : claims.items()) {
    const std::string grade = claim.value("grade", "");
    if (grade != "unsupported" && plan::grade_from(grade) == plan::Grade::unsupported)
      return Verdict::failed(fmt::format(
          "the grade of {} is {}: known are kernel, provider, emulated, advisory, unsupported", name, shown(grade)));
  }
  return Verdict::passed();
}

}  // namespace

std::vector<Check> manifest_checks() {
  return {{Level::exec, "manifest.grades", "the grades of its claims are known words", known_grades},
          {Level::exec, "settings.unknown", "a setting that it does not have is refused", unknown_setting},
          {Level::exec, "settings.image", "an image is refused where none is claimed", honest_about_image}};
}

}  // namespace exechost::conformance
