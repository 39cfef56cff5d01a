// The backend "local": plain processes of this host, started by the keeper through the guest, which
// supervises and kills them and confines nothing. It has the plugins' interface, so that it is opened,
// recorded, killed and cleaned up like any other, and is part of the keeper instead of a library.
#pragma once

#include "exechost/plugin.h"

namespace exechost::node {

// As eh_plugin.create. The probe says how a tree is killed: `kernel` by cgroup.kill where the keeper may
// make cgroups, else `emulated` by the guest as subreaper. Decided once per backend object. [any thread]
eh_status create_local_backend(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** backend);

}  // namespace exechost::node
