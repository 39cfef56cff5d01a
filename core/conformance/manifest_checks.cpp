// Level 0: what the manifest promises about settings.
#include <fmt/format.h>

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

}  // namespace

std::vector<Check> manifest_checks() {
  return {{Level::exec, "settings.unknown", "a setting that it does not have is refused", unknown_setting},
          {Level::exec, "settings.image", "an image is refused where none is claimed", honest_about_image}};
}

}  // namespace exechost::conformance
