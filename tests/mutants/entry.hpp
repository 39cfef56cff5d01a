// What each variant's library exports, in one function.
#pragma once

#include "exechost/plugin.h"
#include "tests/mutants/variant.hpp"

namespace mutants {

eh_status create(const Variant& variant, const eh_host* host, eh_str settings, const eh_call* call,
                 const eh_backend** out);

}  // namespace mutants
