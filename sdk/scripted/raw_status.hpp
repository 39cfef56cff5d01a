// Statuses that the SDK's classes never return: tables around theirs, which take what was asked for.
#pragma once

#include <cstdint>

#include "exechost/backend.hpp"
#include "exechost/plugin.h"

namespace scripted {

// Makes the call that is under way on this thread return `status`; the failure is what the SDK's
// classes are given meanwhile.
exechost::sdk::Failure return_status(std::int32_t status);

// The plugin's create: the SDK's, with those tables.
eh_status create_with_raw_statuses(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** out);

}  // namespace scripted
