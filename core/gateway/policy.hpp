// From a plan to what the gateway may touch.
#pragma once

#include "core/plan/facts.hpp"
#include "core/plan/plan.hpp"
#include "core/settings/settings.hpp"
#include "exechost/gateway.hpp"

namespace exechost::gateway {

// Pure. Readable: the workspace and what filesystem.allow_read names, as far as the view shows it.
// Writable: what the view makes writable in the workspace. What the view hides, masks or replaces
// by something private is hidden; ExecHost's own files are hidden too, but for the project's
// settings in the workspace, which can be read.
Policy make_policy(const plan::Plan& plan, const settings::Settings& settings, const plan::Facts& facts);

}  // namespace exechost::gateway
