/*
 * The C interface of libexechost: for programs in C, and for bindings from any other language.
 *
 *   exechost_host *host = exechost_host_create(NULL, 0, NULL);
 *   exechost_request *request = exechost_request_create();
 *   exechost_request_add_argument(request, "npm", 3);
 *   exechost_request_add_argument(request, "test", 4);
 *   exechost_result *result = exechost_run(host, request);
 *   ...
 *   exechost_result_destroy(result);
 *   exechost_request_destroy(request);
 *   exechost_host_destroy(host);
 *
 * It is thin: everything means what it means in exechost/host.hpp, exechost/request.hpp and
 * exechost/exec_result.hpp. Whatever has a document of its own (settings, results, plans) is JSON in
 * the form that `exechost schema NAME` describes, so this interface need not grow with them.
 *
 * Stability: handles are opaque and there are no structs. Within one soname functions and enumerators
 * are added, never changed or removed; a reader of an enumerator it does not know takes it for the
 * weakest (a status for EXECHOST_FAILED, a failure kind for EXECHOST_PROTOCOL_ERROR).
 *
 * Text is UTF-8; what is bytes (arguments, variables, input, output) comes with its length and may hold
 * anything but, in arguments and variables, NUL. Pointers that a getter returns belong to the handle
 * and live as long as it does; returned `char *` that is not const is the caller's, for
 * exechost_text_destroy. No function throws, and none takes a null handle but the destroy functions,
 * which ignore it, and where said otherwise.
 *
 * Threads: functions of a host may be called from any thread, also at the same time. A request is used
 * by one thread at a time; results and failures are constant. Functions that wait (exechost_run,
 * exechost_start, exechost_explain, exechost_backends, exechost_execution_wait,
 * exechost_execution_destroy, exechost_host_destroy) must not be called from a callback.
 */
/* NOLINTBEGIN(modernize-deprecated-headers,modernize-use-using): this is C, also when C++ reads it. */
#ifndef EXECHOST_EXECHOST_H
#define EXECHOST_EXECHOST_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define EXECHOST_C_API __attribute__((visibility("default")))
#else
#define EXECHOST_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct exechost_host exechost_host;
typedef struct exechost_request exechost_request;
typedef struct exechost_execution exechost_execution;
typedef struct exechost_result exechost_result;
typedef struct exechost_failure exechost_failure;
typedef struct exechost_question exechost_question;

/* How a request ended. */
enum exechost_status {
  EXECHOST_EXITED = 0,             /* exechost_result_exit_code is the command's own status */
  EXECHOST_SIGNALED = 1,           /* exechost_result_signal is what ended it */
  EXECHOST_TIMED_OUT = 2,          /* the deadline passed; nothing of the command is left */
  EXECHOST_CANCELLED = 3,          /* nothing of the command is left */
  EXECHOST_RESOURCE_EXHAUSTED = 4, /* a limit ended it */
  EXECHOST_FAILED = 5              /* exechost_result_failure says why */
};

/* Whether the command can have had side effects. */
enum exechost_started { EXECHOST_STARTED_NO = 0, EXECHOST_STARTED_YES = 1, EXECHOST_STARTED_UNKNOWN = 2 };

/* Why a command was not run, or its end is unknown. */
enum exechost_kind {
  EXECHOST_INVALID_REQUEST = 0,
  EXECHOST_UNSUPPORTED = 1,
  EXECHOST_UNAVAILABLE = 2,
  EXECHOST_PROVISION_FAILED = 3,
  EXECHOST_SPAWN_FAILED = 4,
  EXECHOST_DENIED = 5,
  EXECHOST_ENVIRONMENT_LOST = 6,
  EXECHOST_PROTOCOL_ERROR = 7,
  EXECHOST_PLUGIN_CRASHED = 8
};

enum exechost_stream { EXECHOST_STDOUT = 1, EXECHOST_STDERR = 2 };

/* Bytes of one of the command's streams, valid during the call only. Called on the host's own thread:
 * must not block. Calls for one execution never overlap. */
typedef void (*exechost_output_callback)(void* user, enum exechost_stream stream, const char* data, size_t size);

/* What a person may answer to a question (docs/admission.md). Anything else counts as NO_ROUTE. */
enum exechost_answer {
  EXECHOST_ANSWER_ONCE = 0,    /* this time */
  EXECHOST_ANSWER_SESSION = 1, /* this time, and the same command in the same place as long as the host lives */
  EXECHOST_ANSWER_DENY = 2,
  EXECHOST_ANSWER_NO_ROUTE = 3 /* nobody could be asked */
};

/* Asks a person. Called on a thread of the host's own, one question at a time; may wait as long as it
 * takes, but has to return soon once exechost_question_withdrawn says 1. The question is valid during
 * the call. Must not destroy the host. */
typedef enum exechost_answer (*exechost_approver)(void* user, const exechost_question* question);

/* ---- library ---------------------------------------------------------------------------------- */

/* The library's version, "1.2.3". Constant. */
EXECHOST_C_API const char* exechost_version(void);
/* Frees a text that a function returned to the caller. NULL is ignored. */
EXECHOST_C_API void exechost_text_destroy(char* text);

/* ---- failures --------------------------------------------------------------------------------- */

EXECHOST_C_API enum exechost_kind exechost_failure_kind(const exechost_failure* failure);
/* The names used in JSON ("unavailable"; "provision"). Constant. */
EXECHOST_C_API const char* exechost_failure_kind_name(const exechost_failure* failure);
EXECHOST_C_API const char* exechost_failure_phase_name(const exechost_failure* failure);
/* One sentence: what was wrong. */
EXECHOST_C_API const char* exechost_failure_message(const exechost_failure* failure);
/* What a person can do next; may be "". */
EXECHOST_C_API const char* exechost_failure_hint(const exechost_failure* failure);
/* errno, 0 when none applies. */
EXECHOST_C_API int exechost_failure_errno(const exechost_failure* failure);
/* Only for failures that a function stored through its last argument; one of a result is the result's. */
EXECHOST_C_API void exechost_failure_destroy(exechost_failure* failure);

/* ---- host ------------------------------------------------------------------------------------- */

/*
 * options: a JSON object, or NULL for none:
 *   "keeper"             "child" (default) or "in_process"
 *   "workspace"          absolute path of the one writable folder; default: the working folder now
 *   "environment"        object of strings; default: this process's environment now
 *   "system_config_dir", "user_config_dir", "prefix"
 * NULL and, when failure is not NULL, a failure in *failure: an option is unknown or wrong. (Settings
 * are read at each request; what is wrong with them is that request's failure.)
 */
EXECHOST_C_API exechost_host* exechost_host_create(const char* options, size_t size, exechost_failure** failure);
/* The same with somebody to ask. */
EXECHOST_C_API exechost_host* exechost_host_create_with_approver(const char* options, size_t size,
                                                                 exechost_approver approver, void* user,
                                                                 exechost_failure** failure);
/* The question as a JSON object: "tier", "backend", "argv", "command" (argv as one line), "cwd",
 * "isolation_lost" (a list), "why". Not escaped for a terminal. */
EXECHOST_C_API const char* exechost_question_json(const exechost_question* question, size_t* size);
/* 1 when an answer is of no use any more: the command was cancelled, or its deadline has passed. */
EXECHOST_C_API int exechost_question_withdrawn(const exechost_question* question);
/* Cancels what still runs and waits until nothing of it is left. Executions may be destroyed later. */
EXECHOST_C_API void exechost_host_destroy(exechost_host* host);

/* ---- request: each setter returns 0 or an errno value (EINVAL, ENOMEM) --------------------------- */

/* NULL: out of memory. A request may be run any number of times. */
EXECHOST_C_API exechost_request* exechost_request_create(void);
EXECHOST_C_API void exechost_request_destroy(exechost_request* request);
/* The command, argument by argument, the program first. */
EXECHOST_C_API int exechost_request_add_argument(exechost_request* request, const char* data, size_t size);
/* Instead of arguments: a script for /bin/sh -c inside; in an environment that lasts see docs/sessions.md. */
EXECHOST_C_API int exechost_request_set_shell(exechost_request* request, const char* data, size_t size);
/* Where the command starts: absolute, or relative to the workspace. */
EXECHOST_C_API int exechost_request_set_cwd(exechost_request* request, const char* data, size_t size);
/* Adds to the command's environment. name is a C string. */
EXECHOST_C_API int exechost_request_set_variable(exechost_request* request, const char* name, const char* data,
                                                 size_t size);
/* One JSON object in the shape of the settings: {"backend":"bwrap","resources":{"timeout":"30s"}}. */
EXECHOST_C_API int exechost_request_set_settings(exechost_request* request, const char* json, size_t size);
/* Over provisioning and run together; 0 removes it. */
EXECHOST_C_API int exechost_request_set_timeout_ms(exechost_request* request, uint64_t milliseconds);
/* Standard input: exactly these bytes; or exechost_execution_write_stdin; or pumped from a descriptor
 * that stays the caller's. Unless one is said: end-of-file at once. */
EXECHOST_C_API int exechost_request_set_stdin_bytes(exechost_request* request, const char* data, size_t size);
EXECHOST_C_API int exechost_request_set_stdin_stream(exechost_request* request);
EXECHOST_C_API int exechost_request_set_stdin_descriptor(exechost_request* request, int descriptor);
/* Called with what the command writes; NULL removes it. */
EXECHOST_C_API int exechost_request_on_output(exechost_request* request, exechost_output_callback callback, void* user);
/* Also copied to these descriptors, which stay the caller's; -1 for none. */
EXECHOST_C_API int exechost_request_set_output_descriptors(exechost_request* request, int out, int err);
/* A pseudo-terminal instead of three pipes. */
EXECHOST_C_API int exechost_request_set_terminal(exechost_request* request, uint16_t rows, uint16_t columns);

/* ---- running ---------------------------------------------------------------------------------- */

/* Runs a command to its end. NULL only when out of memory: every other failure is in the result. */
EXECHOST_C_API exechost_result* exechost_run(exechost_host* host, const exechost_request* request);
/* Starts a command. NULL and a failure in *failure (unless failure is NULL) when it can't even be planned. */
EXECHOST_C_API exechost_execution* exechost_start(exechost_host* host, const exechost_request* request,
                                                  exechost_failure** failure);

/* Waits for the end; the result is the caller's, each time another copy. NULL: out of memory, or
 * called from a callback. */
EXECHOST_C_API exechost_result* exechost_execution_wait(exechost_execution* execution);
/* 1 when exechost_execution_wait would not block, else 0. */
EXECHOST_C_API int exechost_execution_finished(const exechost_execution* execution);
/* Kills the whole tree; returns at once. */
EXECHOST_C_API void exechost_execution_cancel(exechost_execution* execution);
/* A signal to the command's process group: 0, or -1 and a failure in *failure (unless failure is NULL). */
EXECHOST_C_API int exechost_execution_signal(exechost_execution* execution, int number, exechost_failure** failure);
/* How many bytes were taken: fewer than given (also 0) when the buffer (1 MiB) is full; -1 and a failure:
 * nothing more is read. */
EXECHOST_C_API intptr_t exechost_execution_write_stdin(exechost_execution* execution, const char* data, size_t size,
                                                       exechost_failure** failure);
EXECHOST_C_API void exechost_execution_close_stdin(exechost_execution* execution);
/* For executions with a terminal: 0, or -1 and a failure. */
EXECHOST_C_API int exechost_execution_resize(exechost_execution* execution, uint16_t rows, uint16_t columns,
                                             exechost_failure** failure);
/* Cancels it if it still runs. */
EXECHOST_C_API void exechost_execution_destroy(exechost_execution* execution);

/* ---- results ---------------------------------------------------------------------------------- */

EXECHOST_C_API enum exechost_status exechost_result_status(const exechost_result* result);
EXECHOST_C_API enum exechost_started exechost_result_started(const exechost_result* result);
EXECHOST_C_API int exechost_result_exit_code(const exechost_result* result);
EXECHOST_C_API int exechost_result_signal(const exechost_result* result);
/* What is kept of a stream (head and tail when it was longer than resources.output_cap): its bytes. */
EXECHOST_C_API const char* exechost_result_stdout(const exechost_result* result, size_t* size);
EXECHOST_C_API const char* exechost_result_stderr(const exechost_result* result, size_t* size);
/* Everything, as one JSON object (`exechost schema result`). */
EXECHOST_C_API const char* exechost_result_json(const exechost_result* result, size_t* size);
/* The result's own; NULL unless the status is EXECHOST_FAILED. */
EXECHOST_C_API const exechost_failure* exechost_result_failure(const exechost_result* result);
EXECHOST_C_API void exechost_result_destroy(exechost_result* result);

/* ---- looking ---------------------------------------------------------------------------------- */

/* What exechost_run would do, without doing it: a JSON object (`exechost schema plan`), or text for a
 * person. NULL and a failure. */
EXECHOST_C_API char* exechost_explain_json(exechost_host* host, const exechost_request* request,
                                           exechost_failure** failure);
EXECHOST_C_API char* exechost_explain_text(exechost_host* host, const exechost_request* request,
                                           exechost_failure** failure);
/* Capability statements of every backend found, a JSON array. NULL and a failure. */
EXECHOST_C_API char* exechost_backends_json(exechost_host* host, exechost_failure** failure);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND(modernize-deprecated-headers,modernize-use-using) */
