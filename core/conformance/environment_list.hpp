// Comparing what a backend lists with what is open.
#pragma once

#include <string_view>
#include <vector>

#include "core/conformance/check.hpp"
#include "core/conformance/keeper_link.hpp"
#include "core/plan/capability.hpp"

namespace exechost::conformance {

// Whether an environment is more than processes that die with their keeper: it has to be listed then.
bool must_list(const plan::Statement& statement);

class EnvironmentList {
 public:
  explicit EnvironmentList(KeeperLink& link) : link_(link) {}
  // Exactly these names, each with its labels. `when` is for the message.
  Verdict expect(const std::vector<const OpenPlace*>& places, std::string_view when);
  // The same for open environments; those that are processes only may be left out, all of them.
  Verdict expect_open(const std::vector<const OpenPlace*>& places, bool lasting);

 private:
  KeeperLink& link_;
};

}  // namespace exechost::conformance
