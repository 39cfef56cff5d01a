#include "core/files/failures.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "core/plan/report.hpp"

namespace exechost::files {
namespace {

Failure make(FailureKind kind, std::string message, std::string_view step, int error, std::string hint) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::run;
  failure.message = std::move(message);
  failure.step = std::string(step);
  failure.error_number = error;
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
    case ESTALE:
    case ECANCELED:
    case ETIMEDOUT: return FailureKind::unavailable;
    default: return FailureKind::invalid_request;
  }
}

std::string error_text(int error) {
  switch (error) {
    case ELOOP: return "it is a link, or leads over one";
    case ESTALE: return "it changed while it was read";
    default: {
      const char* text = ::strerrordesc_np(error);
      return text == nullptr ? fmt::format("error {}", error) : text;
    }
  }
}

std::string hint_for(int error) {
  switch (error) {
    case ENOSPC: return "the disk is full: make room, or choose another place";
    case EDQUOT: return "the quota is used up: make room, or choose another place";
    case ELOOP: return "links are not followed: name what it leads to";
    case ENOSYS: return "this kernel has no openat2 (Linux 5.6)";
    default: return {};
  }
}

}  // namespace

std::string shown(std::string_view path) { return plan::quote(path.empty() ? std::string_view(".") : path); }

Failure from_errno(std::string_view path, std::string_view step, int error, std::string hint) {
  if (hint.empty()) hint = hint_for(error);
  return make(kind_of(error), fmt::format("{}: {}: {}", step, shown(path), error_text(error)), step, error,
              std::move(hint));
}

Failure unfit(std::string_view path, std::string_view rule, int error, std::string hint) {
  return make(FailureKind::invalid_request, fmt::format("{} {}", shown(path), rule), "files", error, std::move(hint));
}

Failure refused(std::string_view path, std::string_view rule, std::string hint) {
  return make(FailureKind::denied, fmt::format("{} {}", shown(path), rule), "files", ELOOP, std::move(hint));
}

Failure broken_stream(std::string_view path, std::string_view rule) {
  return make(FailureKind::protocol_error,
              fmt::format("what came out of the environment is refused: {} {}", shown(path), rule), "stream", EBADMSG,
              {});
}

Failure cut_off(std::string_view path) {
  Failure failure = broken_stream(path, "is where it ends too early");
  failure.error_number = EPIPE;
  return failure;
}

bool is_cut_off(const Failure& failure) { return failure.step == "stream" && failure.error_number == EPIPE; }

Failure over_limit(std::string_view path, std::string_view setting, std::uint64_t limit) {
  return make(FailureKind::invalid_request, fmt::format("{} is over {}, which is {}", shown(path), setting, limit),
              "limit", EFBIG, fmt::format("copy less at once, or raise {}", setting));
}

}  // namespace exechost::files
