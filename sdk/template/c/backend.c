/* The backend @NAME@, in C11. So far each command is a plain process of this machine, started by the host:
 * nothing is isolated, and the manifest says so. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exechost/plugin.h"

enum { KILL = 9 }; /* SIGKILL, which C11 does not know */

static eh_str text(const char* c) {
  eh_str s = {c, strlen(c)};
  return s;
}

static eh_status failed(const eh_call* call, eh_kind kind, eh_phase phase, const char* message) {
  eh_failure failure;
  memset(&failure, 0, sizeof failure);
  failure.struct_size = sizeof failure;
  failure.kind = kind;
  failure.phase = phase;
  failure.message = text(message);
  call->fail(call->context, &failure);
  return EH_FAILED;
}

/* ---- the open document ------------------------------------------------------------ */

/* Enough of JSON to find the text of one member's value in a document that ExecHost made. Each skip_ function
 * gives what comes after, or null when the text ends before. A backend that reads more brings a library. */
static const char* skip_space(const char* at, const char* end) {
  while (at < end && strchr(" \t\r\n", *at) != NULL) ++at;
  return at;
}

static const char* skip_string(const char* at, const char* end) {
  for (++at; at < end; ++at) {
    if (*at == '"') return at + 1;
    if (*at == '\\' && ++at == end) return NULL;
  }
  return NULL;
}

static const char* skip_value(const char* at, const char* end) {
  size_t depth = 0;
  while (at != NULL && at < end) {
    if (depth == 0 && strchr(",}]", *at) != NULL) return at;
    if (*at == '{' || *at == '[') ++depth;
    if (*at == '}' || *at == ']') --depth;
    at = *at == '"' ? skip_string(at, end) : at + 1;
  }
  return NULL;
}

/* The value of a member as it stands in the text: a string with its quotes. Without a pointer: there is none. */
static eh_str member(eh_str object, const char* name) {
  const eh_str none = {NULL, 0};
  const size_t length = strlen(name);
  const char* end = object.ptr + object.len;
  const char* at = object.ptr;
  if (at == NULL || (at = skip_space(at, end)) == end || *at != '{') return none;
  do {
    const char* key = skip_space(at + 1, end);
    const char* value;
    eh_str found;
    if (key == end || *key != '"' || (at = skip_string(key, end)) == NULL) return none;
    value = skip_space(at, end);
    if (value == end || *value != ':') return none;
    value = skip_space(value + 1, end);
    if (value == end || (at = skip_value(value, end)) == NULL) return none;
    if ((size_t)(value - key) >= length + 3 && key[length + 1] == '"' && memcmp(key + 1, name, length) == 0) {
      found.ptr = value;
      found.len = (uint64_t)(at - value);
      return found;
    }
  } while (*at == ',');
  return none;
}

/* ---- one command ------------------------------------------------------------------- */

/* It runs under ExecHost's guest: the guest starts it, says so, passes signals on and ends what is left of
 * it. This end sees the guest's process. */
typedef struct execution {
  eh_execution table;
  const eh_host* host;
  eh_process process;
} execution;

/* A pidfd is readable when its process has ended. */
static int32_t execution_event_fd(void* self) {
  execution* e = self;
  return e->host->process_pidfd(e->host->context, e->process);
}

static eh_status execution_wait(void* self, const eh_call* call, eh_event* event) {
  execution* e = self;
  int32_t status = 0;
  const eh_status result = e->host->process_wait(e->host->context, e->process, &status);
  if (result == EH_PENDING) return EH_PENDING;
  if (result != EH_OK) return failed(call, EH_ENVIRONMENT_LOST, EH_PHASE_RUN, "the guest's end was not seen");
  event->kind = EH_EVENT_ENDED;
  event->wait_status = status;
  return EH_OK;
}

/* Asked only when the guest does not answer any more. Processes that have left the command behind stay: hence
 * tree_kill's grade. */
static int32_t execution_signal(void* self, int32_t signal_number) {
  execution* e = self;
  if (signal_number != KILL) return -ENOTSUP;
  return e->host->process_signal(e->host->context, e->process, signal_number);
}

static void execution_release(void* self) {
  execution* e = self;
  e->host->process_release(e->host->context, e->process);
  free(e);
}

/* ---- one environment --------------------------------------------------------------- */

typedef struct environment {
  eh_environment table;
  const eh_host* host;
} environment;

static eh_status environment_spawn(void* self, const eh_spawn* request, const eh_call* call, const eh_execution** out) {
  environment* e = self;
  int32_t descriptors[4];
  eh_process_spec spec;
  eh_status status;
  execution* made;
  if (request->control_fd < 0) {
    return failed(call, EH_UNSUPPORTED, EH_PHASE_SPAWN, "@NAME@ starts commands through the guest only");
  }
  made = calloc(1, sizeof *made);
  if (made == NULL) return failed(call, EH_SPAWN_FAILED, EH_PHASE_SPAWN, "out of memory");
  descriptors[0] = request->stdin_fd;
  descriptors[1] = request->stdout_fd;
  descriptors[2] = request->stderr_fd;
  descriptors[3] = request->control_fd;
  /* To start it inside something, put that program and its options before the arguments, and hand the
   * descriptors through. */
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.arguments = request->arguments;
  spec.argument_count = request->argument_count;
  spec.environment = request->environment;
  spec.environment_count = request->environment_count;
  spec.descriptors = descriptors;
  spec.descriptor_count = 4;
  spec.working_directory = request->working_directory;
  status = e->host->spawn(e->host->context, &spec, call, &made->process);
  if (status != EH_OK) {
    free(made);
    return status;
  }
  made->host = e->host;
  made->table.struct_size = sizeof made->table;
  made->table.self = made;
  made->table.event_fd = execution_event_fd;
  made->table.wait = execution_wait;
  made->table.signal = execution_signal;
  made->table.release = execution_release;
  *out = &made->table;
  return EH_OK;
}

/* A process is all there ever is of it, and the host has released every execution. */
static eh_status environment_close(void* self, int32_t purge, const eh_call* call) {
  (void)purge;
  (void)call;
  free(self);
  return EH_OK;
}

/* ---- the backend ------------------------------------------------------------------- */

typedef struct backend {
  eh_backend table;
  const eh_host* host;
} backend;

static void backend_destroy(void* self) { free(self); }

/* What holds on this machine now; what is left out counts as unsupported, whatever the manifest says. When
 * something is missing: {"ready":false,"reason":"...","hint":"what to do about it","capabilities":{}}. */
static eh_status backend_probe(void* self, const eh_call* call) {
  (void)self;
  call->answer(call->context, text("{\"ready\":true,\"capabilities\":{"
                                   "\"network.full\":{\"grade\":\"kernel\",\"evidence\":\"plain processes\"},"
                                   "\"stdin\":{\"grade\":\"kernel\",\"evidence\":\"plain processes\"},"
                                   "\"pty\":{\"grade\":\"kernel\",\"evidence\":\"plain processes\"},"
                                   "\"resize\":{\"grade\":\"kernel\",\"evidence\":\"plain processes\"},"
                                   "\"signals\":{\"grade\":\"kernel\",\"evidence\":\"plain processes\"},"
                                   "\"tree_kill\":{\"grade\":\"advisory\",\"evidence\":\"plain processes\"}}}"));
  return EH_OK;
}

/* Answers with where the guest is inside: {"init":"..."}. There is no inside yet, so where it is on this machine,
 * in the spelling of the document. */
static int answer_init(const eh_call* call, eh_str guest) {
  static const char kBegin[] = "{\"init\":";
  const size_t length = sizeof kBegin - 1 + (size_t)guest.len;
  char* json = malloc(length + 1);
  eh_str answer = {json, length + 1};
  if (json == NULL) return 0;
  memcpy(json, kBegin, sizeof kBegin - 1);
  memcpy(json + sizeof kBegin - 1, guest.ptr, (size_t)guest.len);
  json[length] = '}';
  call->answer(call->context, answer);
  free(json);
  return 1;
}

static eh_status backend_open(void* self, eh_str document, const eh_call* call, const eh_environment** out) {
  backend* b = self;
  const eh_str guest = member(member(document, "init"), "source");
  environment* made;
  if (guest.ptr == NULL || guest.ptr[0] != '"') {
    return failed(call, EH_UNSUPPORTED, EH_PHASE_PROVISION, "@NAME@ can't do without the guest (init.source)");
  }
  made = calloc(1, sizeof *made);
  if (made == NULL || !answer_init(call, guest)) {
    free(made);
    return failed(call, EH_PROVISION_FAILED, EH_PHASE_PROVISION, "out of memory");
  }
  made->host = b->host;
  made->table.struct_size = sizeof made->table;
  made->table.self = made;
  made->table.spawn = environment_spawn;
  made->table.close = environment_close;
  *out = &made->table;
  return EH_OK;
}

/* Nothing outlives the keeper, ExecHost's process that calls this: the host kills what it started. */
static eh_status backend_reap(void* self, eh_str entry, const eh_call* call) {
  (void)self;
  (void)entry;
  (void)call;
  return EH_OK;
}

static eh_status backend_list(void* self, const eh_call* call) {
  (void)self;
  call->answer(call->context, text("[]"));
  return EH_OK;
}

static eh_status create(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** out) {
  backend* made = calloc(1, sizeof *made);
  (void)settings;
  if (made == NULL) return failed(call, EH_PROVISION_FAILED, EH_PHASE_PROVISION, "out of memory");
  made->host = host;
  made->table.struct_size = sizeof made->table;
  made->table.self = made;
  made->table.destroy = backend_destroy;
  made->table.probe = backend_probe;
  made->table.open = backend_open;
  made->table.reap = backend_reap;
  made->table.list = backend_list;
  *out = &made->table;
  return EH_OK;
}

static const eh_plugin kTable = {sizeof(eh_plugin),
                                 EH_MAGIC,
                                 EH_ABI_MAJOR,
                                 EH_ABI_MINOR,
                                 {"@NAME@", sizeof "@NAME@" - 1},
                                 {"0.1.0", sizeof "0.1.0" - 1},
                                 create};

EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor);
EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor) {
  (void)host_minor;
  return host_major == EH_ABI_MAJOR ? &kTable : NULL;
}
