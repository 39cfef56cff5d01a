// An approver from another language.
#pragma once

#include "exechost/approver.hpp"
#include "exechost/exechost.h"

namespace exechost::c_api {

// None for a null function.
Approver make_approver(exechost_approver function, void* user);

}  // namespace exechost::c_api
