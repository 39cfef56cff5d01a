/* A complete backend in C11 and nothing else: plain processes, as plain.cpp has them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "exechost/plugin.h"

static eh_str text(const char* c) {
  eh_str s = {c, strlen(c)};
  return s;
}

static eh_status failed(const eh_call* call, eh_phase phase, int32_t error_number, const char* message) {
  eh_failure failure;
  memset(&failure, 0, sizeof failure);
  failure.struct_size = sizeof failure;
  failure.kind = EH_UNAVAILABLE;
  failure.phase = phase;
  failure.error_number = error_number;
  failure.message = text(message);
  call->fail(call->context, &failure);
  return EH_FAILED;
}

typedef struct execution {
  eh_execution table;
  const eh_host* host;
  eh_process process;
  int start_told;
  int started; /* readable at once: that it has started is news */
  int events;  /* epoll of `started` and the pidfd */
} execution;

static int32_t execution_event_fd(void* self) { return ((execution*)self)->events; }

static eh_status execution_wait(void* self, const eh_call* call, eh_event* event) {
  execution* e = self;
  int32_t status = 0;
  (void)call;
  if (!e->start_told) {
    e->start_told = 1;
    (void)epoll_ctl(e->events, EPOLL_CTL_DEL, e->started, NULL);
    event->kind = EH_EVENT_STARTED;
    return EH_OK;
  }
  if (e->host->process_wait(e->host->context, e->process, &status) != EH_OK) return EH_PENDING;
  event->kind = EH_EVENT_ENDED;
  event->wait_status = status;
  return EH_OK;
}

static int32_t execution_signal(void* self, int32_t signal_number) {
  execution* e = self;
  return e->host->process_signal(e->host->context, e->process, signal_number);
}

static void execution_release(void* self) {
  execution* e = self;
  if (e->process != 0) e->host->process_release(e->host->context, e->process);
  if (e->started >= 0) close(e->started);
  if (e->events >= 0) close(e->events);
  free(e);
}

typedef struct environment {
  eh_environment table;
  const eh_host* host;
} environment;

static int watch(int events, int fd) {
  struct epoll_event readable;
  memset(&readable, 0, sizeof readable);
  readable.events = EPOLLIN;
  return epoll_ctl(events, EPOLL_CTL_ADD, fd, &readable);
}

static eh_status environment_spawn(void* self, const eh_spawn* request, const eh_call* call, const eh_execution** out) {
  environment* e = self;
  int32_t descriptors[4];
  eh_process_spec spec;
  eh_status status;
  execution* made = calloc(1, sizeof *made);
  if (made == NULL) return failed(call, EH_PHASE_SPAWN, ENOMEM, "out of memory");
  descriptors[0] = request->stdin_fd;
  descriptors[1] = request->stdout_fd;
  descriptors[2] = request->stderr_fd;
  descriptors[3] = request->control_fd;
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.arguments = request->arguments;
  spec.argument_count = request->argument_count;
  spec.environment = request->environment;
  spec.environment_count = request->environment_count;
  spec.descriptors = descriptors;
  spec.descriptor_count = request->control_fd >= 0 ? 4 : 3;
  spec.working_directory = request->working_directory;
  made->host = e->host;
  made->started = eventfd(1, EFD_CLOEXEC);
  made->events = epoll_create1(EPOLL_CLOEXEC);
  status = e->host->spawn(e->host->context, &spec, call, &made->process);
  if (status != EH_OK) {
    execution_release(made);
    return status;
  }
  if (watch(made->events, made->started) != 0 ||
      watch(made->events, e->host->process_pidfd(e->host->context, made->process)) != 0) {
    int error = errno;
    execution_release(made);
    return failed(call, EH_PHASE_SPAWN, error, "the process can't be watched");
  }
  made->table.struct_size = sizeof made->table;
  made->table.self = made;
  made->table.event_fd = execution_event_fd;
  made->table.wait = execution_wait;
  made->table.signal = execution_signal;
  made->table.release = execution_release;
  *out = &made->table;
  return EH_OK;
}

static eh_status environment_close(void* self, int32_t purge, const eh_call* call) {
  (void)purge;
  (void)call;
  free(self);
  return EH_OK;
}

typedef struct backend {
  eh_backend table;
  const eh_host* host;
} backend;

static void backend_destroy(void* self) { free(self); }

static eh_status backend_probe(void* self, const eh_call* call) {
  (void)self;
  call->answer(call->context, text("{\"ready\":true,\"capabilities\":{\"stdin\":{\"grade\":\"kernel\"}}}"));
  return EH_OK;
}

static eh_status backend_open(void* self, eh_str document, const eh_call* call, const eh_environment** out) {
  backend* b = self;
  environment* made = calloc(1, sizeof *made);
  (void)document;
  if (made == NULL) return failed(call, EH_PHASE_PROVISION, ENOMEM, "out of memory");
  made->host = b->host;
  made->table.struct_size = sizeof made->table;
  made->table.self = made;
  made->table.spawn = environment_spawn;
  made->table.close = environment_close;
  call->answer(call->context, text("{}"));
  *out = &made->table;
  return EH_OK;
}

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
  if (made == NULL) return failed(call, EH_PHASE_PROVISION, ENOMEM, "out of memory");
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

static const eh_plugin kTable = {sizeof(eh_plugin), EH_MAGIC,     EH_ABI_MAJOR, EH_ABI_MINOR,
                                 {"plainc", 6},     {"1.0.0", 5}, create};

EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor);
EXECHOST_PLUGIN_EXPORT const eh_plugin* EXECHOST_PLUGIN_ENTRY(uint32_t host_major, uint32_t host_minor) {
  (void)host_minor;
  return host_major == EH_ABI_MAJOR ? &kTable : NULL;
}
