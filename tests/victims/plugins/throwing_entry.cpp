// The entry function throws.
#include <stdexcept>

#include "exechost/plugin.h"

extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t, uint32_t);
extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t, uint32_t) {
  throw std::runtime_error("told to throw");
}
