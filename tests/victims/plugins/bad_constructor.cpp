// A good table, but code that runs while the library is loaded and does what no such code may.
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "exechost/plugin.h"

namespace {

struct Constructed {
  Constructed() { VICTIM_DOES; }
};
const Constructed kConstructed;

eh_status create(const eh_host* /*host*/, eh_str /*settings*/, const eh_call* /*call*/, const eh_backend** /*out*/) {
  return EH_FAILED;
}

constexpr eh_plugin kTable = {
    sizeof(eh_plugin), EH_MAGIC, EH_ABI_MAJOR, EH_ABI_MINOR, {VICTIM_ID, sizeof(VICTIM_ID) - 1}, {"1.0.0", 5}, &create};

}  // namespace

extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t, uint32_t);
extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t, uint32_t) { return &kTable; }
