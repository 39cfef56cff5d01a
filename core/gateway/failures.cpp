#include "core/gateway/failures.hpp"

#include <fmt/format.h>
#include <cerrno>
#include <cstring>

#include "core/plan/report.hpp"

namespace exechost::gateway {
namespace {

constexpr std::string_view kPolicyStep = "policy";

Failure make(FailureKind kind, std::string message, int error, std::string_view step, std::string hint) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::run;
  failure.message = std::move(message);
  failure.error_number = error;
  failure.step = std::string(step);
  failure.hint = std::move(hint);
  return failure;
}

FailureKind kind_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case EXDEV:
    case ELOOP: return FailureKind::denied;
    case ENOSYS: return FailureKind::unsupported;
    case EAGAIN:
    case EBUSY:
    case EDQUOT:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case ESTALE: return FailureKind::unavailable;
    default: return FailureKind::invalid_request;
  }
}

}  // namespace

std::string error_text(int error) {
  const char* text = ::strerrordesc_np(error);
  return text == nullptr ? fmt::format("error {}", error) : text;
}

Failure refused(std::string_view path, std::string_view rule, std::string hint) {
  return make(FailureKind::denied, fmt::format("{} {}", plan::quote(path), rule), EACCES, kPolicyStep, std::move(hint));
}

Failure unfit(std::string_view path, std::string_view rule, int error, std::string hint) {
  return make(FailureKind::invalid_request, fmt::format("{} {}", plan::quote(path), rule), error, kPolicyStep,
              std::move(hint));
}

Failure from_errno(std::string_view path, std::string_view step, int error) {
  const std::string name = plan::quote(path);
  switch (error) {
    case EXDEV:
      return make(FailureKind::denied,
                  fmt::format("{} leads out of what the gateway may reach, or onto another mount", name), error, step,
                  "links inside the workspace have to be relative; use tier \"sandbox\" for what is mounted in it");
    case ELOOP:
      return make(FailureKind::denied, fmt::format("{} leads over a link that is not followed", name), error, step, {});
    case ENOSYS:
      return make(FailureKind::unsupported, "this kernel has no openat2, which the gateway tier can't do without",
                  error, step, "use tier \"sandbox\"");
    case EAGAIN:
      return make(FailureKind::unavailable, fmt::format("{} kept changing while it was looked up", name), error, step,
                  "try again");
    default: return make(kind_of(error), fmt::format("{}: {}: {}", step, name, error_text(error)), error, step, {});
  }
}

bool is_interruption(const Failure& failure) {
  return failure.error_number == ETIMEDOUT || failure.error_number == ECANCELED;
}

bool is_refusal(const Failure& failure) {
  return failure.kind == FailureKind::denied && (failure.step == kPolicyStep || failure.error_number == EXDEV);
}

}  // namespace exechost::gateway
