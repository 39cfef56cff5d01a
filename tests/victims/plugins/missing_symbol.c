/* Needs a function that no library has. */
#include "exechost/plugin.h"

const eh_plugin* exechost_victim_nobody_has_this(void);

EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor);
EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor) {
  (void)host_major;
  (void)host_minor;
  return exechost_victim_nobody_has_this();
}
