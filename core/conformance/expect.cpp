#include "core/conformance/expect.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace exechost::conformance {

Verdict first_failure(const std::vector<Verdict>& verdicts) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [](const Verdict& verdict) { return verdict.kind != Verdict::Kind::passed; });
  return found == verdicts.end() ? Verdict::passed() : *found;
}

Verdict failed(std::string_view what, const Failure& failure) {
  return Verdict::failed(fmt::format("{}: {}: {}", what, to_string(failure.kind), failure.message));
}

Verdict exits_with(std::string_view what, const ExecResult& result, int code) {
  if (result.status == Status::exited && result.exit_code == code) return Verdict::passed();
  return Verdict::failed(fmt::format("{}: expected exit code {}, it {}{}", what, code, in_words(result),
                                     result.err.data.empty() ? "" : ", stderr " + shown(result.err.data)));
}

Verdict same_bytes(std::string_view what, std::string_view seen, std::string_view expected) {
  if (seen == expected) return Verdict::passed();
  const auto differ = std::mismatch(seen.begin(), seen.end(), expected.begin(), expected.end());
  return Verdict::failed(fmt::format("{}: {} bytes instead of {}, different from byte {} on: {} instead of {}", what,
                                     seen.size(), expected.size(), differ.first - seen.begin(),
                                     shown({differ.first, seen.end()}), shown({differ.second, expected.end()})));
}

Verdict exact(std::string_view what, const ExecResult& result, std::string_view out, std::string_view err, int code) {
  if (result.pipes_held_open) {
    return Verdict::failed(fmt::format("{}: a stream of the command was still open when nothing of it was left", what));
  }
  return first_failure({exits_with(what, result, code),
                        same_bytes(fmt::format("{}, stdout", what), result.out.data, out),
                        same_bytes(fmt::format("{}, stderr", what), result.err.data, err)});
}

}  // namespace exechost::conformance
