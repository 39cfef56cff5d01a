#include "raw_status.hpp"

#include <memory>
#include <utility>

#include "backend.hpp"

namespace scripted {

namespace sdk = exechost::sdk;

namespace {

struct Asked {
  bool set;
  eh_status status;
};
thread_local Asked asked{false, EH_OK};

// Whatever was asked for counts for one call.
eh_status taken(eh_status status) {
  const Asked now = std::exchange(asked, Asked{false, EH_OK});
  return now.set ? now.status : status;
}

template <class Table>
struct Around {
  Table table{};
  const Table* inner = nullptr;
};

template <class Table>
const Table& inner_of(void* self) {
  return *static_cast<Around<Table>*>(self)->inner;
}

template <class Table>
Around<Table>* around(const Table* inner) {
  auto* const made = new Around<Table>{*inner, inner};
  made->table.struct_size = sizeof made->table;
  made->table.self = made;
  return made;
}

template <class Table>
void forget(void* self) {
  delete static_cast<Around<Table>*>(self);
}

const eh_execution* execution_around(const eh_execution* inner) {
  auto* const made = around(inner);
  made->table.event_fd = [](void* self) {
    const auto& execution = inner_of<eh_execution>(self);
    return execution.event_fd(execution.self);
  };
  made->table.wait = [](void* self, const eh_call* call, eh_event* event) {
    const auto& execution = inner_of<eh_execution>(self);
    return taken(execution.wait(execution.self, call, event));
  };
  made->table.signal = [](void* self, std::int32_t number) {
    const auto& execution = inner_of<eh_execution>(self);
    return execution.signal(execution.self, number);
  };
  made->table.release = [](void* self) {
    const auto& execution = inner_of<eh_execution>(self);
    execution.release(execution.self);
    forget<eh_execution>(self);
  };
  return &made->table;
}

const eh_environment* environment_around(const eh_environment* inner) {
  auto* const made = around(inner);
  made->table.spawn = [](void* self, const eh_spawn* spec, const eh_call* call, const eh_execution** out) {
    const auto& environment = inner_of<eh_environment>(self);
    const eh_execution* execution = nullptr;
    const eh_status status = taken(environment.spawn(environment.self, spec, call, &execution));
    if (status == EH_OK) *out = execution == nullptr ? nullptr : execution_around(execution);
    return status;
  };
  made->table.close = [](void* self, std::int32_t purge, const eh_call* call) {
    const auto& environment = inner_of<eh_environment>(self);
    const eh_status status = environment.close(environment.self, purge, call);
    if (status == EH_OK) forget<eh_environment>(self);
    return taken(status);
  };
  made->table.get_extension = nullptr;
  return &made->table;
}

const eh_backend* backend_around(const eh_backend* inner) {
  auto* const made = around(inner);
  made->table.destroy = [](void* self) {
    const auto& backend = inner_of<eh_backend>(self);
    backend.destroy(backend.self);
    forget<eh_backend>(self);
  };
  made->table.probe = [](void* self, const eh_call* call) {
    const auto& backend = inner_of<eh_backend>(self);
    return taken(backend.probe(backend.self, call));
  };
  made->table.open = [](void* self, eh_str document, const eh_call* call, const eh_environment** out) {
    const auto& backend = inner_of<eh_backend>(self);
    const eh_environment* environment = nullptr;
    const eh_status status = taken(backend.open(backend.self, document, call, &environment));
    if (status == EH_OK) *out = environment == nullptr ? nullptr : environment_around(environment);
    return status;
  };
  made->table.reap = [](void* self, eh_str entry, const eh_call* call) {
    const auto& backend = inner_of<eh_backend>(self);
    return taken(backend.reap(backend.self, entry, call));
  };
  made->table.list = [](void* self, const eh_call* call) {
    const auto& backend = inner_of<eh_backend>(self);
    return taken(backend.list(backend.self, call));
  };
  made->table.get_extension = nullptr;
  return &made->table;
}

}  // namespace

sdk::Failure return_status(std::int32_t status) {
  asked = {true, status};
  return sdk::Failure::reported();
}

eh_status create_with_raw_statuses(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** out) {
  const eh_backend* backend = nullptr;
  const eh_status status = taken(sdk::detail::create<ScriptedBackend>(host, settings, call, &backend));
  if (status == EH_OK) *out = backend == nullptr ? nullptr : backend_around(backend);
  return status;
}

}  // namespace scripted
