// workspace.mode copy: the copy made ready for a plan, and what was changed in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/files/limits.hpp"
#include "core/plan/plan.hpp"
#include "core/workspace/copies.hpp"
#include "exechost/files.hpp"

namespace exechost::host {

// Makes the copy when it is not there, and puts into the plan who is where in it, so that the guest can check what
// it finds mounted. ECANCELED when it is not wanted any more. Blocks. [worker]
Result<void> provide_copy(workspace::Copies& copies, plan::Plan& plan, const files::Limits& limits,
                          std::function<bool()> wanted);

Result<ChangeList> list_changes(const workspace::CopyFolder& copy, const files::Limits& limits);
// `plan` is one of a run in the workspace: what it may not write stays as it is.
Result<ApplyResult> apply_changes(const workspace::CopyFolder& copy, const plan::Plan& plan,
                                  const std::vector<std::string>& paths, const files::Limits& limits);

}  // namespace exechost::host
