// From the C tables to the classes: nothing to use, EXECHOST_PLUGIN does. Included by backend.hpp.
#ifndef EXECHOST_BACKEND_BRIDGE_HPP
#define EXECHOST_BACKEND_BRIDGE_HPP

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/backend/call.hpp"
#include "exechost/backend/host.hpp"
#include "exechost/backend/interface.hpp"
#include "exechost/backend/outcome.hpp"
#include "exechost/backend/support.hpp"
#include "exechost/plugin.h"

namespace exechost::sdk {
inline namespace v1 {

namespace detail {

inline void report(const eh_call* call, const Failure& failure) noexcept {
  if (failure.already_reported) return;
  eh_failure raw{};
  raw.struct_size = sizeof raw;
  raw.kind = static_cast<eh_kind>(failure.kind);
  raw.phase = static_cast<eh_phase>(failure.phase);
  raw.error_number = failure.error_number;
  raw.message = to_eh(failure.message);
  raw.hint = to_eh(failure.hint);
  raw.step = to_eh(failure.step);
  raw.code = to_eh(failure.code);
  raw.request_id = to_eh(failure.request_id);
  call->fail(call->context, &raw);
}

inline eh_status failed(const eh_call* call, const Failure& failure) noexcept {
  if (failure.status == EH_TIMED_OUT || failure.status == EH_CANCELLED) return failure.status;
  report(call, failure);
  return EH_FAILED;
}

// Allocates nothing: it also reports std::bad_alloc.
inline eh_status broken(const eh_call* call, Phase phase, std::string_view what, std::string_view detail) noexcept {
  char text[512];
  std::size_t length = 0;
  for (const std::string_view part : {what, detail}) {
    const std::size_t count = std::min(part.size(), sizeof text - length);
    if (count != 0) std::memcpy(text + length, part.data(), count);
    length += count;
  }
  eh_failure raw{};
  raw.struct_size = sizeof raw;
  raw.kind = EH_PROTOCOL_ERROR;
  raw.phase = static_cast<eh_phase>(phase);
  raw.message = eh_str{text, length};
  call->fail(call->context, &raw);
  return EH_FAILED;
}

// Runs `body`; whatever it throws becomes a report. Catching everything is the point: nothing
// may unwind into the host, which may use another C++ runtime.
template <class Body>
eh_status guard(const eh_call* call, Phase phase, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return broken(call, phase, "unhandled exception: out of memory", {});
  } catch (const std::exception& error) {
    return broken(call, phase, "unhandled exception: ", error.what());
  } catch (...) {
    return broken(call, phase, "unhandled exception: of a type unlike std::exception", {});
  }
}

template <class Value, class Body>
Value guard_value(Value on_exception, const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    return on_exception;
  }
}

struct EnvironmentShim;

struct ExecutionShim {
  eh_execution table{};
  std::shared_ptr<EnvironmentShim> environment;  // outlives `implementation`
  std::unique_ptr<Execution> implementation;

  static ExecutionShim& from(void* self) noexcept { return *static_cast<ExecutionShim*>(self); }

  static std::int32_t event_fd(void* self) noexcept {
    return guard_value(-1, [&] { return from(self).implementation->event_fd(); });
  }
  static eh_status wait(void* self, const eh_call* call, eh_event* event) noexcept {
    return guard(call, Phase::run, [&]() -> eh_status {
      Outcome<std::optional<Event>> outcome = from(self).implementation->wait(Call(call));
      if (!outcome) return failed(call, outcome.failure());
      if (!outcome->has_value()) return EH_PENDING;
      const Event& got = **outcome;
      event->kind = static_cast<std::int32_t>(got.kind);
      event->wait_status = got.wait_status;
      event->user_time_us = got.user_time_us;
      event->system_time_us = got.system_time_us;
      event->max_rss_bytes = got.max_rss_bytes;
      return EH_OK;
    });
  }
  static std::int32_t signal(void* self, std::int32_t number) noexcept {
    return guard_value(-EIO, [&] { return from(self).implementation->signal(number); });
  }
  static void release(void* self) noexcept { delete static_cast<ExecutionShim*>(self); }
};

struct EnvironmentShim : std::enable_shared_from_this<EnvironmentShim> {
  eh_environment table{};
  std::unique_ptr<Environment> implementation;
  std::shared_ptr<EnvironmentShim> until_closed;  // the host's share

  static EnvironmentShim& from(void* self) noexcept { return *static_cast<EnvironmentShim*>(self); }

  static eh_status spawn(void* self, const eh_spawn* spec, const eh_call* call, const eh_execution** out) noexcept {
    return guard(call, Phase::spawn, [&]() -> eh_status {
      EnvironmentShim& shim = from(self);
      auto execution = std::make_unique<ExecutionShim>();
      execution->environment = shim.shared_from_this();
      Outcome<std::unique_ptr<Execution>> outcome = shim.implementation->spawn(SpawnRequest(spec), Call(call));
      if (!outcome) return failed(call, outcome.failure());
      if (*outcome == nullptr) return broken(call, Phase::spawn, "spawn returned no execution", {});
      execution->implementation = std::move(*outcome);
      eh_execution& made = execution->table;
      made.struct_size = sizeof made;
      made.self = execution.get();
      made.event_fd = &ExecutionShim::event_fd;
      made.wait = &ExecutionShim::wait;
      made.signal = &ExecutionShim::signal;
      made.release = &ExecutionShim::release;
      *out = &execution.release()->table;
      return EH_OK;
    });
  }
  static eh_status close(void* self, std::int32_t purge, const eh_call* call) noexcept {
    return guard(call, Phase::cleanup, [&]() -> eh_status {
      EnvironmentShim& shim = from(self);
      Outcome<void> outcome = shim.implementation->close(purge == 1, Call(call));
      if (!outcome) return failed(call, outcome.failure());
      // The last share goes when the last execution has been released.
      const std::shared_ptr<EnvironmentShim> last = std::move(shim.until_closed);
      return EH_OK;
    });
  }
  static const void* get_extension(void* self, eh_str id) noexcept {
    return guard_value(static_cast<const void*>(nullptr),
                       [&] { return from(self).implementation->get_extension(to_view(id)); });
  }
};

struct BackendShim {
  eh_backend table{};
  std::unique_ptr<Backend> implementation;

  static BackendShim& from(void* self) noexcept { return *static_cast<BackendShim*>(self); }

  static void destroy(void* self) noexcept { delete static_cast<BackendShim*>(self); }
  static eh_status answer(const eh_call* call, Outcome<std::string>&& outcome) {
    if (!outcome) return failed(call, outcome.failure());
    call->answer(call->context, to_eh(*outcome));
    return EH_OK;
  }
  static eh_status probe(void* self, const eh_call* call) noexcept {
    return guard(call, Phase::provision, [&] { return answer(call, from(self).implementation->probe(Call(call))); });
  }
  static eh_status open(void* self, eh_str document, const eh_call* call, const eh_environment** out) noexcept {
    return guard(call, Phase::provision, [&]() -> eh_status {
      auto shim = std::make_shared<EnvironmentShim>();
      Outcome<Opened> outcome = from(self).implementation->open(to_view(document), Call(call));
      if (!outcome) return failed(call, outcome.failure());
      if (outcome->environment == nullptr) return broken(call, Phase::provision, "open returned no environment", {});
      shim->implementation = std::move(outcome->environment);
      eh_environment& made = shim->table;
      made.struct_size = sizeof made;
      made.self = shim.get();
      made.spawn = &EnvironmentShim::spawn;
      made.close = &EnvironmentShim::close;
      made.get_extension = &EnvironmentShim::get_extension;
      call->answer(call->context, to_eh(outcome->answer));
      *out = &made;
      shim->until_closed = shim;
      return EH_OK;
    });
  }
  static eh_status reap(void* self, eh_str entry, const eh_call* call) noexcept {
    return guard(call, Phase::cleanup, [&]() -> eh_status {
      Outcome<void> outcome = from(self).implementation->reap(to_view(entry), Call(call));
      return outcome ? EH_OK : failed(call, outcome.failure());
    });
  }
  static eh_status list(void* self, const eh_call* call) noexcept {
    return guard(call, Phase::cleanup, [&] { return answer(call, from(self).implementation->list(Call(call))); });
  }
  static const void* get_extension(void* self, eh_str id) noexcept {
    return guard_value(static_cast<const void*>(nullptr),
                       [&] { return from(self).implementation->get_extension(to_view(id)); });
  }
};

template <class B>
concept Creatable = std::derived_from<B, Backend> && requires(Host host, std::string_view settings, const Call& call) {
  { B::create(host, settings, call) } -> std::convertible_to<Outcome<std::unique_ptr<Backend>>>;
};

template <class B>
eh_status create(const eh_host* host, eh_str settings, const eh_call* call, const eh_backend** out) noexcept {
  return guard(call, Phase::provision, [&]() -> eh_status {
    auto shim = std::make_unique<BackendShim>();
    Outcome<std::unique_ptr<Backend>> outcome = B::create(Host(host), to_view(settings), Call(call));
    if (!outcome) return failed(call, outcome.failure());
    if (*outcome == nullptr) return broken(call, Phase::provision, "create returned no backend", {});
    shim->implementation = std::move(*outcome);
    eh_backend& table = shim->table;
    table.struct_size = sizeof table;
    table.self = shim.get();
    table.destroy = &BackendShim::destroy;
    table.probe = &BackendShim::probe;
    table.open = &BackendShim::open;
    table.reap = &BackendShim::reap;
    table.list = &BackendShim::list;
    table.get_extension = &BackendShim::get_extension;
    *out = &shim.release()->table;
    return EH_OK;
  });
}

}  // namespace detail

}  // namespace v1
}  // namespace exechost::sdk

#endif
