#include "tests/mutants/stream_faults.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mutants {

namespace sdk = exechost::sdk;

namespace {

constexpr std::size_t kCut = 65536;
constexpr std::size_t kEarly = 4096;

using Piece = std::optional<std::string_view>;

// Each holds what it has to remember from one piece to the next.
Change drop_last() {
  return [held = std::string()](Piece piece) mutable {
    return piece ? std::exchange(held, std::string(*piece)) : std::string();
  };
}

Change cut() {
  return [left = kCut](Piece piece) mutable {
    const std::string_view kept = piece.value_or("").substr(0, left);
    left -= kept.size();
    return std::string(kept);
  };
}

Change end_lines() {
  return [last = '\n'](Piece piece) mutable {
    if (!piece) return std::string(last == '\n' ? "" : "\n");
    last = piece->back();
    return std::string(*piece);
  };
}

Change carriage_returns() {
  return [](Piece piece) {
    std::string text;
    for (const char c : piece.value_or("")) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    return text;
  };
}

Change stop_at_zero() {
  return [stopped = false](Piece piece) mutable {
    if (stopped || !piece) return std::string();
    stopped = piece->find('\0') != std::string_view::npos;
    return std::string(piece->substr(0, piece->find('\0')));
  };
}

std::optional<RelayOptions> output_relay(Fault fault) {
  switch (fault) {
    case Fault::drops_last_buffer: return RelayOptions{drop_last()};
    case Fault::truncates_at_64k: return RelayOptions{cut()};
    case Fault::adds_newline: return RelayOptions{end_lines()};
    case Fault::converts_crlf: return RelayOptions{carriage_returns()};
    case Fault::stops_at_nul: return RelayOptions{stop_at_zero()};
    default: return std::nullopt;
  }
}

std::optional<RelayOptions> input_relay(Fault fault) {
  if (fault == Fault::swallows_stdin_eof) return RelayOptions{{}, SIZE_MAX, true};
  if (fault == Fault::closes_stdin_early) return RelayOptions{{}, kEarly, false};
  return std::nullopt;
}

sdk::Failure no_pipe(int error) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::spawn_failed;
  failure.phase = sdk::Phase::spawn;
  failure.error_number = error;
  failure.step = "pipe";
  failure.message = "no pipe for a stream of the command";
  return failure;
}

// The host's descriptors are valid until spawn returns only.
sdk::Fd copy_of(int fd) { return sdk::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); }

}  // namespace

sdk::Outcome<Streams> make_streams(const sdk::SpawnRequest& request, Fault fault) {
  Streams streams;
  streams.in = fault == Fault::ignores_stdin ? -1 : request.stdin_fd();
  streams.out = fault == Fault::swaps_streams ? request.stderr_fd() : request.stdout_fd();
  const bool one = fault == Fault::swaps_streams || fault == Fault::merges_stderr;
  streams.err = one ? request.stdout_fd() : request.stderr_fd();
  auto input = input_relay(fault);
  auto output = output_relay(fault);
  // A terminal is one thing; its streams can't be taken apart.
  if (request.tty() || (!input && !output)) return streams;

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_pipe(errno);
  sdk::Fd read_end(ends[0]);
  sdk::Fd write_end(ends[1]);
  if (input) {
    streams.in = read_end.get();
    streams.owned.push_back(std::move(read_end));
    streams.relays.push_back(
        std::make_unique<Relay>(copy_of(request.stdin_fd()), std::move(write_end), std::move(*input)));
  } else {
    streams.out = write_end.get();
    streams.owned.push_back(std::move(write_end));
    streams.relays.push_back(
        std::make_unique<Relay>(std::move(read_end), copy_of(request.stdout_fd()), std::move(*output)));
  }
  return streams;
}

}  // namespace mutants
