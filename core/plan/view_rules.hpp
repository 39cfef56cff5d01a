// What has a say about the view, before it is a view: one rule per path and reason, and the
// question which of them decides about a path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/facts.hpp"
#include "core/plan/view.hpp"

namespace exechost::plan {

// At one path the later kind decides.
enum class RuleKind {
  system,       // "/" and what ExecHost always keeps private
  home,         // homes
  toolchain,    // shows what is in a home
  credential,   // never shown unless asked for by name
  workspace,    //
  allow_read,   // shows
  allow_write,  //
  deny_read,    // hides
  own_private,  // ExecHost's state: hidden with everything below, whatever is said deeper
};

struct Rule {
  std::string path;
  RuleKind kind = RuleKind::system;
  Access access = Access::ro;
  std::string source;
  std::uint64_t size_bytes = 0;
  std::string reason;
};

// Takes writing away at and below a path, whatever gave it.
struct WriteCap {
  std::string path;
  std::string reason;
};

class ViewRules {
 public:
  void add(Rule rule) { rules_.push_back(std::move(rule)); }
  void add(WriteCap cap) { caps_.push_back(std::move(cap)); }

  // What is in force at `path`: the deepest rule at or above it decides about what is seen, then
  // the caps about writing. A rule that only shows leaves it writable where it already is. What is
  // built in never shows something below an explicit deny_read.
  ViewEntry decide(const std::string& path) const;
  bool writable_on_host(const std::string& path) const { return decide(path).access == Access::rw; }
  // Whether the host's files are seen there.
  bool shows_host(const std::string& path) const;

  // Every path that a rule or a cap names.
  std::vector<std::string> paths() const;

 private:
  std::vector<Rule> rules_;
  std::vector<WriteCap> caps_;
};

// The rules as a list to be rendered: shallow before deep, without what changes nothing, and with
// every folder between a writable one and something protected in it pinned, so that it can't be
// renamed away.
View render(const ViewRules& rules, const Facts& facts);

}  // namespace exechost::plan
