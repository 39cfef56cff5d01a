// Write a backend in C++20: derive from Backend, Environment and Execution, and put
// EXECHOST_PLUGIN(MyBackend, "id", "1.0.0") in one source file. Header-only, on top of
// plugin.h; needs the standard library and nothing else, so a plugin may be built with another
// compiler, standard library or other flags than ExecHost.
//
// Errors: functions return Outcome<T>; make a Failure and return it. An exception that leaves
// your code is caught here, never crosses to the host, and becomes protocol_error "unhandled
// exception: ...". A destructor must not throw.
//
// Threads: as plugin.h tags them. Backend's functions, Environment::spawn and Execution::signal
// may run concurrently on any threads; one call at a time otherwise.
//
// Lifetime: Backend outlives its environments, an Environment its executions. Views (Call,
// SpawnRequest, string_view arguments) are valid until the function returns.
#ifndef EXECHOST_BACKEND_HPP
#define EXECHOST_BACKEND_HPP

#include "exechost/backend/bridge.hpp"
#include "exechost/backend/call.hpp"
#include "exechost/backend/host.hpp"
#include "exechost/backend/interface.hpp"
#include "exechost/backend/json.hpp"
#include "exechost/backend/open_environments.hpp"
#include "exechost/backend/outcome.hpp"
#include "exechost/backend/support.hpp"
#include "exechost/plugin.h"

// Makes the one exported function. Once per plugin, in one source file, at namespace scope. `id`
// and `version` are string literals equal to the manifest's.
#define EXECHOST_PLUGIN(backend_class, id, version)                                                         \
  static_assert(::exechost::sdk::detail::Creatable<backend_class>, #backend_class                           \
                " has to derive from exechost::sdk::Backend and to have: static "                           \
                "Outcome<std::unique_ptr<Backend>> create(Host, std::string_view settings, const Call&)");  \
  extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t, uint32_t);             \
  extern "C" EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t) { \
    static constexpr eh_plugin kTable = {sizeof(eh_plugin),                                                 \
                                         EH_MAGIC,                                                          \
                                         EH_ABI_MAJOR,                                                      \
                                         EH_ABI_MINOR,                                                      \
                                         {id, sizeof(id) - 1},                                              \
                                         {version, sizeof(version) - 1},                                    \
                                         &::exechost::sdk::detail::create<backend_class>};                  \
    return host_major == EH_ABI_MAJOR ? &kTable : nullptr;                                                  \
  }                                                                                                         \
  static_assert(true, "")

#endif
