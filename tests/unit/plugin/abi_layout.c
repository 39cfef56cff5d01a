/* Sizes and offsets of the ABI on LP64 machines. Compiled as C11 and as C++17: if one of these lines
 * fails, the change breaks every plugin that exists. New members at the end add lines, no line
 * ever changes. */
#include "exechost/plugin.h"

#ifdef __cplusplus
#define LAYOUT_ASSERT(condition) static_assert(condition, #condition)
#else
#define LAYOUT_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#define SIZE_OF(type, size) LAYOUT_ASSERT(sizeof(type) == (size))
/* A struct that says its own size: it may grow at its end. */
#define AT_LEAST(type, size) LAYOUT_ASSERT(sizeof(type) >= (size))
#define AT(type, member, offset) LAYOUT_ASSERT(offsetof(type, member) == (offset))

SIZE_OF(void*, 8);
SIZE_OF(void (*)(void), 8);
SIZE_OF(eh_status, 4);
SIZE_OF(eh_kind, 4);
SIZE_OF(eh_phase, 4);
SIZE_OF(eh_process, 8);

SIZE_OF(eh_str, 16);
AT(eh_str, ptr, 0);
AT(eh_str, len, 8);

AT_LEAST(eh_failure, 96);
AT(eh_failure, struct_size, 0);
AT(eh_failure, kind, 4);
AT(eh_failure, phase, 8);
AT(eh_failure, error_number, 12);
AT(eh_failure, message, 16);
AT(eh_failure, hint, 32);
AT(eh_failure, step, 48);
AT(eh_failure, code, 64);
AT(eh_failure, request_id, 80);

AT_LEAST(eh_call, 56);
AT(eh_call, struct_size, 0);
AT(eh_call, reserved, 4);
AT(eh_call, context, 8);
AT(eh_call, deadline_ns, 16);
AT(eh_call, cancel_fd, 24);
AT(eh_call, reserved2, 28);
AT(eh_call, fail, 32);
AT(eh_call, answer, 40);
AT(eh_call, progress, 48);

AT_LEAST(eh_process_spec, 64);
AT(eh_process_spec, struct_size, 0);
AT(eh_process_spec, argument_count, 4);
AT(eh_process_spec, arguments, 8);
AT(eh_process_spec, environment, 16);
AT(eh_process_spec, environment_count, 24);
AT(eh_process_spec, descriptor_count, 28);
AT(eh_process_spec, descriptors, 32);
AT(eh_process_spec, working_directory, 40);
AT(eh_process_spec, flags, 56);

AT_LEAST(eh_host, 88);
AT(eh_host, struct_size, 0);
AT(eh_host, abi_major, 4);
AT(eh_host, abi_minor, 8);
AT(eh_host, reserved, 12);
AT(eh_host, context, 16);
AT(eh_host, log, 24);
AT(eh_host, secret, 32);
AT(eh_host, now_ns, 40);
AT(eh_host, spawn, 48);
AT(eh_host, process_pidfd, 56);
AT(eh_host, process_wait, 64);
AT(eh_host, process_signal, 72);
AT(eh_host, process_release, 80);

AT_LEAST(eh_spawn, 64);
AT(eh_spawn, struct_size, 0);
AT(eh_spawn, argument_count, 4);
AT(eh_spawn, arguments, 8);
AT(eh_spawn, environment, 16);
AT(eh_spawn, environment_count, 24);
AT(eh_spawn, tty, 28);
AT(eh_spawn, working_directory, 32);
AT(eh_spawn, stdin_fd, 48);
AT(eh_spawn, stdout_fd, 52);
AT(eh_spawn, stderr_fd, 56);
AT(eh_spawn, control_fd, 60);

AT_LEAST(eh_event, 40);
AT(eh_event, struct_size, 0);
AT(eh_event, kind, 4);
AT(eh_event, wait_status, 8);
AT(eh_event, reserved, 12);
AT(eh_event, user_time_us, 16);
AT(eh_event, system_time_us, 24);
AT(eh_event, max_rss_bytes, 32);

AT_LEAST(eh_execution, 48);
AT(eh_execution, struct_size, 0);
AT(eh_execution, reserved, 4);
AT(eh_execution, self, 8);
AT(eh_execution, event_fd, 16);
AT(eh_execution, wait, 24);
AT(eh_execution, signal, 32);
AT(eh_execution, release, 40);

AT_LEAST(eh_environment, 40);
AT(eh_environment, struct_size, 0);
AT(eh_environment, reserved, 4);
AT(eh_environment, self, 8);
AT(eh_environment, spawn, 16);
AT(eh_environment, close, 24);
AT(eh_environment, get_extension, 32);

AT_LEAST(eh_backend, 64);
AT(eh_backend, struct_size, 0);
AT(eh_backend, reserved, 4);
AT(eh_backend, self, 8);
AT(eh_backend, destroy, 16);
AT(eh_backend, probe, 24);
AT(eh_backend, open, 32);
AT(eh_backend, reap, 40);
AT(eh_backend, list, 48);
AT(eh_backend, get_extension, 56);

AT_LEAST(eh_plugin, 56);
AT(eh_plugin, struct_size, 0);
AT(eh_plugin, magic, 4);
AT(eh_plugin, abi_major, 8);
AT(eh_plugin, abi_minor, 12);
AT(eh_plugin, id, 16);
AT(eh_plugin, version, 32);
AT(eh_plugin, create, 48);

/* Values that are written into binaries. */
LAYOUT_ASSERT(EH_MAGIC == 0x31484745u);
LAYOUT_ASSERT(EH_ABI_MAJOR == 1u);
LAYOUT_ASSERT(EH_OK == 0 && EH_FAILED == 1 && EH_PENDING == 2 && EH_TIMED_OUT == 3 && EH_CANCELLED == 4);
LAYOUT_ASSERT(EH_INVALID_REQUEST == 1 && EH_UNSUPPORTED == 2 && EH_UNAVAILABLE == 3 && EH_PROVISION_FAILED == 4);
LAYOUT_ASSERT(EH_SPAWN_FAILED == 5 && EH_DENIED == 6 && EH_ENVIRONMENT_LOST == 7 && EH_PROTOCOL_ERROR == 8);
LAYOUT_ASSERT(EH_PLUGIN_CRASHED == 9);
LAYOUT_ASSERT(EH_PHASE_PROVISION == 3 && EH_PHASE_SPAWN == 4 && EH_PHASE_RUN == 5 && EH_PHASE_COLLECT == 6);
LAYOUT_ASSERT(EH_PHASE_CLEANUP == 7);
LAYOUT_ASSERT(EH_LOG_DEBUG == 0 && EH_LOG_INFO == 1 && EH_LOG_WARNING == 2 && EH_LOG_ERROR == 3);
LAYOUT_ASSERT(EH_EVENT_STARTED == 1 && EH_EVENT_ENDED == 2);

/* The macro plugins use, with the language's own typing rules. */
int exechost_abi_has_version(const eh_plugin* table);
int exechost_abi_has_version(const eh_plugin* table) { return EH_HAS(table, eh_plugin, version) ? 1 : 0; }
