// A command that nobody watches must not run for ever.
#pragma once

#include "core/settings/settings.hpp"
#include "exechost/host.hpp"

namespace exechost::cli {

// The settings in force for the request. When no setting, variable or option gives a time-out and
// neither standard input nor standard error is a terminal, the request gets one of 10 minutes.
Result<settings::Settings> settle_timeout(const HostOptions& options, Request& request);

}  // namespace exechost::cli
