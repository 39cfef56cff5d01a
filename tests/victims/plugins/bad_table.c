/* A plugin with one thing wrong, chosen by definitions. */
#include <stddef.h>

#include "exechost/plugin.h"

#ifndef VICTIM_MAGIC
#define VICTIM_MAGIC EH_MAGIC
#endif
#ifndef VICTIM_MAJOR
#define VICTIM_MAJOR EH_ABI_MAJOR
#endif
#ifndef VICTIM_SIZE
#define VICTIM_SIZE sizeof(eh_plugin)
#endif
#ifndef VICTIM_SAYS_ID
#define VICTIM_SAYS_ID VICTIM_ID
#endif
#ifndef VICTIM_VERSION
#define VICTIM_VERSION "1.0.0"
#endif
#ifndef VICTIM_CREATE
#define VICTIM_CREATE create
#endif
#ifndef VICTIM_TABLE
#define VICTIM_TABLE &kTable
#endif

static eh_status create(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** out) {
  (void)host;
  (void)settings;
  (void)call;
  *out = NULL;
  return EH_OK;
}

static const eh_plugin kTable = {VICTIM_SIZE,
                                 VICTIM_MAGIC,
                                 VICTIM_MAJOR,
                                 EH_ABI_MINOR,
                                 {VICTIM_SAYS_ID, sizeof(VICTIM_SAYS_ID) - 1},
                                 {VICTIM_VERSION, sizeof(VICTIM_VERSION) - 1},
                                 VICTIM_CREATE};
EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor);
EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor) {
  (void)host_major;
  (void)host_minor;
  (void)create; /* not every victim uses these */
  (void)kTable;
  return VICTIM_TABLE;
}
