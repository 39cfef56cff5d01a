/*
 * The C ABI between ExecHost and a backend plugin (major 1).
 *
 * A plugin is a shared library that exports exactly one function, EXECHOST_PLUGIN_ENTRY,
 * beside a manifest (NAME.so, NAME.json). Include this file alone, from C11 or C++17
 * on; nothing else of ExecHost is needed. C++ authors use backend.hpp on top of it.
 *
 * Rules for everything here
 *  - Every struct begins with its size as its maker knows it. A reader may touch a
 *    member only if it lies inside that size (EH_HAS); a writer zero-fills. New members
 *    come only at the end; values are never renumbered. The same major loads older and
 *    newer minors; each side uses the lower.
 *  - Strings are eh_str: UTF-8 where they are text, raw bytes where they are arguments,
 *    environment or paths of the command; never NUL-terminated by contract.
 *  - Each side frees only what it allocated. Inputs are valid until the call returns.
 *    Outputs go through eh_call's functions, which copy. A table given through `out` is the
 *    plugin's and stays valid until its release, close or destroy; `out` is written with EH_OK only.
 *  - No function pointer is null, unless its comment says that it may be.
 *  - No exception, longjmp or signal handler crosses. A plugin does not fork, exit,
 *    change directory, umask, locale or environment, nor set limits: it asks the host's
 *    `spawn` for processes. It may start threads and joins them in `destroy`.
 *  - Code that runs while the library is loaded (static constructors) can't report anything
 *    and delays every load, since it is tried in a process of its own first: have none.
 *
 * Thread tags at the end of each comment
 *  [init]    called once, nothing else runs in the plugin at that time
 *  [any]     called concurrently from any thread
 *  [session] at most one call at a time per object, on any thread; [any] functions of the same
 *            object may run meanwhile
 *
 * Order: the host releases every execution of an environment before it calls close, closes every
 * environment before destroy, and calls nothing of an object while or after it goes away.
 *
 * Blocking: every function that takes an eh_call honours its deadline and its
 * cancellation descriptor, provisioning included, and returns within 2 s of either.
 */
#ifndef EXECHOST_PLUGIN_H
#define EXECHOST_PLUGIN_H
/* NOLINTBEGIN(modernize-*): C, also when a C++ file includes it */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EH_ABI_MAJOR 1u
#define EH_ABI_MINOR 0u
#define EH_MAGIC 0x31484745u /* "EGH1" in memory */

/* The name of the one exported function: const eh_plugin* f(uint32_t host_major, uint32_t host_minor). */
#define EXECHOST_PLUGIN_ENTRY exechost_plugin_v1
#define EXECHOST_PLUGIN_ENTRY_NAME "exechost_plugin_v1"
#define EXECHOST_PLUGIN_EXPORT __attribute__((visibility("default")))

/* True when `member` of the struct that `pointer` points to lies inside the size its maker stated. */
#define EH_HAS(pointer, type, member) ((pointer)->struct_size >= offsetof(type, member) + sizeof(((type*)0)->member))

typedef struct eh_str {
  const char* ptr;
  uint64_t len;
} eh_str;

/* What a function returns. Anything that is not listed reads as EH_FAILED. */
typedef int32_t eh_status;
enum {
  EH_OK = 0,
  EH_FAILED = 1,    /* eh_call.fail was called with the reason */
  EH_PENDING = 2,   /* wait: nothing new; the event descriptor will become readable */
  EH_TIMED_OUT = 3, /* the deadline passed; what had been begun is undone */
  EH_CANCELLED = 4  /* the cancellation descriptor became readable; what had been begun is undone */
};

/* Failure kinds (docs: the failure contract). Unknown values read as EH_PROTOCOL_ERROR. */
typedef int32_t eh_kind;
enum {
  EH_INVALID_REQUEST = 1,
  EH_UNSUPPORTED = 2,
  EH_UNAVAILABLE = 3,
  EH_PROVISION_FAILED = 4,
  EH_SPAWN_FAILED = 5,
  EH_DENIED = 6,
  EH_ENVIRONMENT_LOST = 7,
  EH_PROTOCOL_ERROR = 8,
  EH_PLUGIN_CRASHED = 9
};

typedef int32_t eh_phase;
enum { EH_PHASE_PROVISION = 3, EH_PHASE_SPAWN = 4, EH_PHASE_RUN = 5, EH_PHASE_COLLECT = 6, EH_PHASE_CLEANUP = 7 };

/* Why something failed, built from status codes and API fields, never from a program's text. */
typedef struct eh_failure {
  uint32_t struct_size;
  eh_kind kind;
  eh_phase phase;
  int32_t error_number; /* errno or 0 */
  eh_str message;       /* one sentence with the value concerned; texts above 8 KiB are cut */
  eh_str hint;          /* what a person can do next, or empty */
  eh_str step;          /* the step inside the phase, or empty */
  eh_str code;          /* a remote service's own code, or empty */
  eh_str request_id;    /* a remote service's request id, or empty */
} eh_failure;

/* Made by the host for one call; valid until that call returns. */
typedef struct eh_call {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  int64_t deadline_ns; /* CLOCK_MONOTONIC in nanoseconds; INT64_MAX: none */
  int32_t cancel_fd;   /* readable when the call should stop; never read from it; -1: none */
  int32_t reserved2;
  /* Reports the reason before returning EH_FAILED. The first report counts; with another
   * status than EH_FAILED it is forgotten. EH_FAILED without a report is a protocol error. [any] */
  void (*fail)(void* context, const eh_failure* failure);
  /* Gives the call's answer: one JSON document in UTF-8, at most 16 MiB. The last one counts. [any] */
  void (*answer)(void* context, eh_str json);
  /* Says in a few words what is being done, for a person who waits. [any] */
  void (*progress)(void* context, eh_str text);
} eh_call;

/* ---- What the host offers ------------------------------------------------------- */

enum { EH_LOG_DEBUG = 0, EH_LOG_INFO = 1, EH_LOG_WARNING = 2, EH_LOG_ERROR = 3 };

/* A child process of the keeper. */
typedef struct eh_process_spec {
  uint32_t struct_size;
  uint32_t argument_count;
  const eh_str* arguments;   /* arguments[0] is the program: an absolute path */
  const eh_str* environment; /* "NAME=value"; the child gets exactly these */
  uint32_t environment_count;
  uint32_t descriptor_count;
  /* Child's descriptor i becomes a duplicate of descriptors[i]; -1: /dev/null. The
   * child has no other descriptor. They stay the caller's. At least 3, at most 256. */
  const int32_t* descriptors;
  eh_str working_directory; /* empty: / */
  uint32_t flags;           /* EH_PROCESS_ flags */
  uint32_t reserved;
} eh_process_spec;

enum {
  /* It is not killed when the keeper dies. For a program that may leave something behind when it
   * is killed at a bad moment; the backend then answers for its end (the guest ends by itself
   * when its control socket closes). */
  EH_PROCESS_OUTLIVES_KEEPER = 1
};

/* A process that the host started; 0 is none. Valid until process_release. */
typedef uint64_t eh_process;

typedef struct eh_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  void* context;
  /* Writes one line to ExecHost's log. [any] */
  void (*log)(void* context, int32_t level, eh_str message);
  /* Copies a secret into `buffer` and returns its length; -1: there is none of that name;
   * a value above `capacity`: that much is needed and nothing was copied. Wipe it after use. [any] */
  int64_t (*secret)(void* context, eh_str name, char* buffer, uint64_t capacity);
  /* CLOCK_MONOTONIC in nanoseconds. [any] */
  int64_t (*now_ns)(void* context);
  /* Starts a process: own session, default signal dispositions, SIGKILL when the keeper
   * dies. Returns when its exec has succeeded or failed. EH_FAILED: eh_call.fail already has
   * errno and step; return EH_FAILED, or succeed by other means. [any] */
  eh_status (*spawn)(void* context, const eh_process_spec* spec, const eh_call* call, eh_process* out);
  /* A pidfd (pollable: readable when it has ended); stays the host's, valid until release. [any] */
  int32_t (*process_pidfd)(void* context, eh_process process);
  /* EH_OK: it ended, *wait_status as waitpid(2) gives it, the same at every later call.
   * EH_PENDING: it runs. EH_FAILED: its status is lost. Never blocks. [any] */
  eh_status (*process_wait)(void* context, eh_process process, int32_t* wait_status);
  /* Sends a signal to the process (not to a group). 0 or -errno. [any] */
  int32_t (*process_signal)(void* context, eh_process process, int32_t signal_number);
  /* Forgets it; a process that still runs is killed and reaped. [any] */
  void (*process_release)(void* context, eh_process process);
} eh_host;

/* ---- What a backend offers ------------------------------------------------------ */

/* One command (or the guest, see control_fd) to start in an environment. */
typedef struct eh_spawn {
  uint32_t struct_size;
  uint32_t argument_count;
  const eh_str* arguments;   /* raw bytes */
  const eh_str* environment; /* "NAME=value", raw bytes; exactly these */
  uint32_t environment_count;
  int32_t tty;              /* 1: the three descriptors are one terminal's slave side */
  eh_str working_directory; /* absolute, inside the environment */
  /* Pipes, a terminal's slave or /dev/null that the host made for this execution;
   * they stay the host's and are valid until spawn returns. */
  int32_t stdin_fd;
  int32_t stdout_fd;
  int32_t stderr_fd;
  /* >= 0: arguments are the guest's. The backend makes this socket the process's
   * descriptor 3 and never uses it. -1: the arguments are the command itself. */
  int32_t control_fd;
} eh_spawn;

enum {
  /* The command's exec succeeded. At most once, before ENDED. With a control_fd the guest
   * says so itself, and this event may be left out. */
  EH_EVENT_STARTED = 1,
  /* It ended and nothing of it is left; wait_status is valid. Implies STARTED. */
  EH_EVENT_ENDED = 2
};

/* Filled by wait(); the host made it, with its struct_size and zeros. What isn't known stays 0. */

typedef struct eh_event {
  uint32_t struct_size;
  int32_t kind;
  int32_t wait_status; /* as waitpid(2) */
  int32_t reserved;
  int64_t user_time_us;
  int64_t system_time_us;
  int64_t max_rss_bytes;
} eh_event;

/* One started command. */
typedef struct eh_execution {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  /* Readable as long as wait() has something, STARTED included; the same descriptor at every
   * call, the plugin's, valid until release. [any] */
  int32_t (*event_fd)(void* self);
  /* Never blocks. EH_OK: *event filled. EH_PENDING: nothing new (it may be called without
   * need). EH_FAILED: it could not be started or was lost; call->fail has the reason. After
   * ENDED or EH_FAILED only signal and release follow. [session] */
  eh_status (*wait)(void* self, const eh_call* call, eh_event* event);
  /* Sends a signal to the command's process group, or with signal_number 9 kills its whole
   * tree. 0 or -errno (-ESRCH: it has ended). Never blocks. [any] */
  int32_t (*signal)(void* self, int32_t signal_number);
  /* Forgets it; a command that still runs is killed whole first. Returns within 2 s. [session] */
  void (*release)(void* self);
} eh_execution;

/* One open environment. */
typedef struct eh_environment {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  /* Starts a command. Returns as soon as the start is under way: EVENT_STARTED confirms it. [any] */
  eh_status (*spawn)(void* self, const eh_spawn* spec, const eh_call* call, const eh_execution** out);
  /* Ends the environment and everything in it. EH_OK only when nothing of it is left; then
   * `self` is gone. After another status it is still there and close may be called again. With
   * purge = 1 lasting data is removed as well. [session] */
  eh_status (*close)(void* self, int32_t purge, const eh_call* call);
  /* An extension table by id ("exechost.copy/1") that lives as long as `self`, or null. The
   * pointer may be null: no extensions. [any] */
  const void* (*get_extension)(void* self, eh_str id);
} eh_environment;

typedef struct eh_backend {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  /* Destroys the backend and joins its threads; all environments are closed before. [init] */
  void (*destroy)(void* self);
  /* Says what holds on this machine now: answer() with
   * {"ready":bool,"reason":"...","hint":"...","capabilities":{NAME:{"grade":"...","evidence":"..."}}}.
   * Cheap (2 s at most), without side effects. [any] */
  eh_status (*probe)(void* self, const eh_call* call);
  /* Opens an environment from one JSON document (schema: `exechost schema open`). answer() with
   * {"init":"path of the guest inside","details":{}}. [any] */
  eh_status (*open)(void* self, eh_str document, const eh_call* call, const eh_environment** out);
  /* Removes what an environment left behind, from its ledger entry (a JSON document) alone, in a
   * process that never opened it. Idempotent; EH_OK only when nothing is left. [any] */
  eh_status (*reap)(void* self, eh_str entry, const eh_call* call);
  /* answer() with an array of {"name","labels"} of everything that carries ExecHost's labels. [any] */
  eh_status (*list)(void* self, const eh_call* call);
  /* As eh_environment's. [any] */
  const void* (*get_extension)(void* self, eh_str id);
} eh_backend;

typedef struct eh_plugin {
  uint32_t struct_size;
  uint32_t magic; /* EH_MAGIC */
  uint32_t abi_major;
  uint32_t abi_minor;
  eh_str id;      /* equal to the manifest's */
  eh_str version; /* equal to the manifest's */
  /* Makes a backend from its own settings (one JSON object, validated and with defaults).
   * `host` stays valid until destroy returns. More than one backend may be made, one after the
   * other, each with other settings. [init] */
  eh_status (*create)(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** out);
} eh_plugin;

/* Null: the plugin refuses this host. The table lives as long as the library. [init] */
typedef const eh_plugin* (*eh_plugin_entry)(uint32_t host_major, uint32_t host_minor);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */
#endif
