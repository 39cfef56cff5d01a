// Failures and Outcome<T>. Included by backend.hpp.
#ifndef EXECHOST_BACKEND_OUTCOME_HPP
#define EXECHOST_BACKEND_OUTCOME_HPP

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "exechost/plugin.h"

namespace exechost::sdk {
inline namespace v1 {

enum class Kind : eh_kind {
  invalid_request = EH_INVALID_REQUEST,
  unsupported = EH_UNSUPPORTED,
  unavailable = EH_UNAVAILABLE,
  provision_failed = EH_PROVISION_FAILED,
  spawn_failed = EH_SPAWN_FAILED,
  denied = EH_DENIED,
  environment_lost = EH_ENVIRONMENT_LOST,
  protocol_error = EH_PROTOCOL_ERROR,
};

enum class Phase : eh_phase {
  provision = EH_PHASE_PROVISION,
  spawn = EH_PHASE_SPAWN,
  run = EH_PHASE_RUN,
  collect = EH_PHASE_COLLECT,
  cleanup = EH_PHASE_CLEANUP,
};

// Why something did not work. Built from errno, status codes and API fields, never from a
// program's text. `status` EH_TIMED_OUT or EH_CANCELLED means that the call was stopped and what
// had been begun is undone; the other members are then of no interest.
struct Failure {
  Kind kind = Kind::protocol_error;
  Phase phase = Phase::provision;
  std::string message{};     // one sentence with the value concerned, UTF-8
  std::string hint{};        // what a person can do next; may be empty
  int error_number = 0;      // errno; 0 when none applies
  std::string step{};        // the step inside the phase; may be empty
  std::string code{};        // a remote service's own code; may be empty
  std::string request_id{};  // a remote service's request id; may be empty
  eh_status status = EH_FAILED;

  static Failure timed_out() {
    Failure failure;
    failure.status = EH_TIMED_OUT;
    return failure;
  }
  static Failure cancelled() {
    Failure failure;
    failure.status = EH_CANCELLED;
    return failure;
  }
  // For a call in between whose own call context already holds the reason (Host::spawn): the
  // host keeps the first report, so this one adds nothing.
  static Failure reported() {
    Failure failure;
    failure.already_reported = true;
    return failure;
  }

  bool already_reported = false;
};

// A value or the Failure that took its place.
template <class T>
class [[nodiscard]] Outcome {
 public:
  // Implicit, so that functions simply return what they have.
  // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload)
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  // From what converts to T; never instead of copying or moving.
  template <class U>
  requires(std::convertible_to<U&&, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, Failure> && !std::same_as<std::remove_cvref_t<U>, Outcome>)
      Outcome(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Failure& failure() { return std::get<1>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

template <>
class [[nodiscard]] Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Failure failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !failure_.has_value(); }
  explicit operator bool() const { return ok(); }
  Failure& failure() { return failure_.value(); }
  const Failure& failure() const { return failure_.value(); }

 private:
  std::optional<Failure> failure_;
};

}  // namespace v1
}  // namespace exechost::sdk

#endif
