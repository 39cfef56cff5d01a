#include "tests/mutants/boundary.hpp"

#include <cstddef>
#include <cstring>
#include <stdexcept>

namespace mutants {
namespace {

constexpr eh_status kUnlisted = 77;
constexpr std::size_t kTooMuch = 16;
constexpr int kPattern = 0xA5;

struct Execution {
  eh_execution table;
  const eh_execution* inner;
  Fault fault;
};

struct Environment {
  eh_environment table;
  const eh_environment* inner;
  Fault fault;
};

struct Backend {
  eh_backend table;
  const eh_backend* inner;
  Fault fault;
};

template <class T>
T& from(void* self) {
  return *static_cast<T*>(self);
}

int32_t event_fd(void* self) {
  const auto& execution = from<Execution>(self);
  return execution.inner->event_fd(execution.inner->self);
}

eh_status wait(void* self, const eh_call* call, eh_event* event) {
  const auto& execution = from<Execution>(self);
  const eh_status status = execution.inner->wait(execution.inner->self, call, event);
  // Not by a pointer that the compiler can follow: it would see the overflow.
  char* volatile end = reinterpret_cast<char*>(event) + event->struct_size;
  std::memset(end, kPattern, kTooMuch);
  return status;
}

int32_t signal(void* self, int32_t number) {
  const auto& execution = from<Execution>(self);
  return execution.inner->signal(execution.inner->self, number);
}

void release(void* self) {
  const auto* const execution = static_cast<Execution*>(self);
  execution->inner->release(execution->inner->self);
  delete execution;
}

eh_status spawn(void* self, const eh_spawn* spec, const eh_call* call, const eh_execution** out) {
  const auto& environment = from<Environment>(self);
  if (environment.fault == Fault::throws_across_the_boundary) throw std::runtime_error("thrown by a mutant");
  const eh_execution* inner = nullptr;
  const eh_status status = environment.inner->spawn(environment.inner->self, spec, call, &inner);
  if (status != EH_OK) return status;
  auto* const made = new Execution{{}, inner, environment.fault};
  made->table = {sizeof made->table, 0, made, &event_fd, &wait, &signal, &release};
  *out = &made->table;
  return EH_OK;
}

eh_status close(void* self, int32_t purge, const eh_call* call) {
  const auto* const environment = static_cast<Environment*>(self);
  const eh_status status = environment->inner->close(environment->inner->self, purge, call);
  if (status == EH_OK) delete environment;
  return status;
}

void destroy(void* self) {
  const auto* const backend = static_cast<Backend*>(self);
  backend->inner->destroy(backend->inner->self);
  delete backend;
}

eh_status probe(void* self, const eh_call* call) {
  const auto& backend = from<Backend>(self);
  return backend.inner->probe(backend.inner->self, call);
}

eh_status open(void* self, eh_str document, const eh_call* call, const eh_environment** out) {
  const auto& backend = from<Backend>(self);
  if (backend.fault == Fault::fails_without_report) return EH_FAILED;
  if (backend.fault == Fault::unlisted_status) return kUnlisted;
  const eh_environment* inner = nullptr;
  const eh_status status = backend.inner->open(backend.inner->self, document, call, &inner);
  if (status != EH_OK) return status;
  auto* const made = new Environment{{}, inner, backend.fault};
  made->table = {sizeof made->table, 0, made, &spawn, &close, nullptr};
  *out = &made->table;
  return EH_OK;
}

eh_status reap(void* self, eh_str entry, const eh_call* call) {
  const auto& backend = from<Backend>(self);
  return backend.inner->reap(backend.inner->self, entry, call);
}

eh_status list(void* self, const eh_call* call) {
  const auto& backend = from<Backend>(self);
  return backend.inner->list(backend.inner->self, call);
}

}  // namespace

const eh_backend* with_boundary_fault(const eh_backend* backend, Fault fault) {
  switch (fault) {
    case Fault::writes_past_its_struct:
    case Fault::throws_across_the_boundary:
    case Fault::fails_without_report:
    case Fault::unlisted_status: break;
    default: return backend;
  }
  auto* const made = new Backend{{}, backend, fault};
  made->table = {sizeof made->table, 0, made, &destroy, &probe, &open, &reap, &list, nullptr};
  return &made->table;
}

}  // namespace mutants
