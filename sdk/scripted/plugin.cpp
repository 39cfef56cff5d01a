// The scripted backend's one exported function; not by EXECHOST_PLUGIN, since a script may ask for
// statuses that the SDK's classes never return.
#include "exechost/plugin.h"
#include "raw_status.hpp"

namespace {

constexpr char kId[] = "scripted";
constexpr char kVersion[] = "1.0.0";
constexpr eh_plugin kTable = {sizeof(eh_plugin),
                              EH_MAGIC,
                              EH_ABI_MAJOR,
                              EH_ABI_MINOR,
                              {kId, sizeof kId - 1},
                              {kVersion, sizeof kVersion - 1},
                              &scripted::create_with_raw_statuses};

}  // namespace

extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t, uint32_t);
extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t) {
  return host_major == EH_ABI_MAJOR ? &kTable : nullptr;
}
