#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/plugin/loader.hpp"

namespace exechost::plugin {
namespace {

// What a plugin says is untrusted: long texts are cut, long answers refused.
constexpr std::size_t kMaxText = 8192;
constexpr std::size_t kMaxAnswer = 16UL * 1024 * 1024;

std::string text_from(eh_str text) {
  if (text.ptr == nullptr) return {};
  const std::size_t length = std::min(static_cast<std::size_t>(text.len), kMaxText);
  return to_valid_utf8(std::string_view(text.ptr, length));
}

FailureKind kind_from(eh_kind kind) {
  switch (kind) {
    case EH_INVALID_REQUEST: return FailureKind::invalid_request;
    case EH_UNSUPPORTED: return FailureKind::unsupported;
    case EH_UNAVAILABLE: return FailureKind::unavailable;
    case EH_PROVISION_FAILED: return FailureKind::provision_failed;
    case EH_SPAWN_FAILED: return FailureKind::spawn_failed;
    case EH_DENIED: return FailureKind::denied;
    case EH_ENVIRONMENT_LOST: return FailureKind::environment_lost;
    case EH_PLUGIN_CRASHED: return FailureKind::plugin_crashed;
    default: return FailureKind::protocol_error;
  }
}

Phase phase_from_abi(eh_phase phase, Phase otherwise) {
  switch (phase) {
    case EH_PHASE_PROVISION: return Phase::provision;
    case EH_PHASE_SPAWN: return Phase::spawn;
    case EH_PHASE_RUN: return Phase::run;
    case EH_PHASE_COLLECT: return Phase::collect;
    case EH_PHASE_CLEANUP: return Phase::cleanup;
    default: return otherwise;
  }
}

}  // namespace

std::string from_eh(eh_str text) {
  return text.ptr == nullptr ? std::string() : std::string(text.ptr, static_cast<std::size_t>(text.len));
}

struct Call::Impl {
  Impl(std::string backend_id, Phase call_phase) : backend(std::move(backend_id)), phase(call_phase) {}

  const std::string backend;
  const Phase phase;
  eh_call raw{};
  std::function<void(std::string_view)> on_progress;

  std::mutex mutex;  // the three functions are [any]
  std::optional<Failure> reported;
  std::string answer;
  bool answer_too_large = false;
  bool out_of_memory = false;

  Failure broken(std::string message) const {
    Failure failure;
    failure.kind = FailureKind::protocol_error;
    failure.phase = phase;
    failure.backend = backend;
    failure.message = std::move(message);
    failure.hint = "the plugin is broken: ask its author";
    return failure;
  }

  // Runs in a plugin's call: nothing may leave it.
  template <class Body>
  void guarded(const Body& body) noexcept {
    const std::lock_guard lock(mutex);
    try {
      body();
    } catch (...) {
      out_of_memory = true;
    }
  }

  static Impl& from(void* context) { return *static_cast<Impl*>(context); }

  static void fail(void* context, const eh_failure* failure) noexcept {
    Impl& impl = from(context);
    impl.guarded([&] {
      if (impl.reported) return;
      if (failure == nullptr || !EH_HAS(failure, eh_failure, request_id)) {
        impl.reported = impl.broken(fmt::format("backend \"{}\" reported a truncated failure", impl.backend));
        return;
      }
      Failure copy;
      copy.kind = kind_from(failure->kind);
      copy.phase = phase_from_abi(failure->phase, impl.phase);
      copy.backend = impl.backend;
      copy.error_number = std::max(failure->error_number, 0);
      copy.message = text_from(failure->message);
      copy.hint = text_from(failure->hint);
      copy.step = text_from(failure->step);
      copy.code = text_from(failure->code);
      copy.request_id = text_from(failure->request_id);
      if (copy.message.empty()) copy.message = fmt::format("backend \"{}\" gave no reason", impl.backend);
      impl.reported = std::move(copy);
    });
  }

  static void take_answer(void* context, eh_str json) noexcept {
    Impl& impl = from(context);
    impl.guarded([&] {
      impl.answer_too_large = json.len > kMaxAnswer;
      impl.answer = impl.answer_too_large ? std::string() : from_eh(json);
    });
  }

  static void progress(void* context, eh_str text) noexcept {
    Impl& impl = from(context);
    // A person misses a word at worst: not worth failing the call.
    try {
      if (impl.on_progress) impl.on_progress(text_from(text));
    } catch (...) {
      return;
    }
  }

  Failure failure_for(eh_status status) {
    if (status != EH_FAILED) {
      return broken(
          fmt::format("backend \"{}\" returned status {}, which the plugin ABI does not have", backend, status));
    }
    if (reported) return std::move(*reported);
    return broken(fmt::format("backend \"{}\" failed without a reason", backend));
  }
};

Call::Call(std::string backend, Phase phase, CallLimits limits)
    : impl_(std::make_unique<Impl>(std::move(backend), phase)) {
  eh_call& raw = impl_->raw;
  raw.struct_size = sizeof raw;
  raw.context = impl_.get();
  raw.deadline_ns = limits.deadline_ns;
  raw.cancel_fd = limits.cancel_fd;
  raw.fail = &Impl::fail;
  raw.answer = &Impl::take_answer;
  raw.progress = &Impl::progress;
}

Call::~Call() = default;

const eh_call* Call::call() const { return &impl_->raw; }

void Call::on_progress(std::function<void(std::string_view)> handler) { impl_->on_progress = std::move(handler); }

CallOutcome Call::finish(eh_status status) {
  const std::lock_guard lock(impl_->mutex);
  CallOutcome outcome;
  outcome.status = status;
  switch (status) {
    case EH_OK:
    case EH_PENDING:
    case EH_TIMED_OUT:
    case EH_CANCELLED: break;
    default:
      outcome.status = EH_FAILED;
      outcome.failure = impl_->failure_for(status);
      return outcome;
  }
  if (impl_->out_of_memory || impl_->answer_too_large) {
    outcome.status = EH_FAILED;
    outcome.failure = impl_->broken(
        fmt::format("backend \"{}\" gave an answer that is too large (at most {} bytes)", impl_->backend, kMaxAnswer));
    return outcome;
  }
  outcome.answer = std::move(impl_->answer);
  return outcome;
}

}  // namespace exechost::plugin
