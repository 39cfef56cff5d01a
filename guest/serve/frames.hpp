// What the keeper and `exechost-guest serve --stream` say to each other over two byte streams, the guest's
// standard input and output (docs/guest-protocol.md). One frame is a header and its payload, little-endian.
//
// Used by a static program without iostream, locale or NSS: plain structs and integers only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exechost::guest {

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "frames are little-endian, as every architecture that has a guest is"
#endif

inline constexpr std::uint32_t kStreamMagic = 0x53484545;  // "EEHS"
inline constexpr std::uint32_t kStreamVersion = 1;
inline constexpr std::uint32_t kMaxPayload = 64 * 1024;

// A receiver's window of one stream of one execution: what may be under way at the beginning, and at most.
inline constexpr std::uint32_t kFirstWindow = 64 * 1024;
inline constexpr std::uint32_t kMaxWindow = 1024 * 1024;
// By how much all windows of one receiver together may have grown.
inline constexpr std::uint64_t kWindowGrowth = 64ULL * 1024 * 1024;

inline constexpr std::uint32_t kMinLeaseMs = 50;
inline constexpr std::uint32_t kMaxLeaseMs = 60 * 60 * 1000;
inline constexpr std::uint32_t kHeartbeatsPerLease = 4;

// Executions are numbered by the keeper, each higher than all before it.
inline constexpr std::uint32_t kLastExecution = 0x7fffffff;

enum class FrameType : std::uint16_t {
  hello = 1,       // guest: Hello; its first frame, before it has read anything
  open = 2,        // keeper: Open; its first frame. `spec` frames of execution 0 follow
  spec = 3,        // keeper: the next bytes of the specification that `open` or `run` announced
  run = 4,         // keeper: Run; `spec` frames of that execution follow
  data = 5,        // both: bytes of a stream
  closed = 6,      // both: nothing comes any more (its writer), or nobody reads any more (its reader)
  credit = 7,      // both: Credit; the reader of a stream has room for so many bytes more
  resize = 8,      // keeper: TerminalSize
  signal = 9,      // keeper: Signal; to the command's process group
  kill = 10,       // keeper: the whole tree, by its supervisor
  end = 11,        // keeper: nothing of it may stay: the supervisor itself is killed
  heartbeat = 12,  // both: nothing else to say
  confined = 13,   // guest: Confined; execution 0: the guest itself, which then waits for commands
  started = 14,    // guest: the command's exec succeeded
  failed = 15,     // guest: Failed; execution 0: the guest itself, which then ends
  exited = 16,     // guest: Exited; the main process. Everything else of it is killed next
  over = 17,       // guest: Over; nothing of it is left, or that is not proven
  last = over,     // what is to come later has a number of its own, and a version
};

// Of `data`, `closed` and `credit`; 0 in every other frame.
enum class StreamId : std::uint16_t { input = 0, output = 1, error = 2 };
inline constexpr std::size_t kStreams = 3;

struct FrameHeader {
  std::uint32_t length = 0;  // of the payload
  FrameType type{};
  StreamId stream = StreamId::input;
  std::uint32_t execution = 0;
};
static_assert(sizeof(FrameHeader) == 12);

enum class Architecture : std::uint32_t { x86_64 = 1, aarch64 = 2 };

struct Hello {
  std::uint32_t magic = kStreamMagic;
  std::uint32_t version = kStreamVersion;
  Architecture architecture{};
  std::uint32_t page_size = 0;
  std::uint32_t max_executions = 0;
  std::uint32_t max_payload = kMaxPayload;
  std::uint32_t input_window = kFirstWindow;
  std::uint32_t reserved = 0;
};
struct Open {
  std::uint32_t magic = kStreamMagic;
  std::uint32_t version = kStreamVersion;
  std::uint32_t lease_ms = 0;  // who hears nothing for so long takes the other for gone
  std::uint32_t output_window = kFirstWindow;
  std::uint32_t spec_bytes = 0;
  std::uint32_t reserved = 0;
};
struct TerminalSize {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint16_t width = 0;
  std::uint16_t height = 0;
};
struct Run {
  std::uint32_t spec_bytes = 0;
  std::uint32_t terminal = 0;  // 1: all three streams are one terminal; `error` stays silent
  TerminalSize size;
};
struct Credit {
  std::uint32_t bytes = 0;
};
struct Signal {
  std::int32_t number = 0;
};
struct Confined {
  std::uint32_t landlock_abi = 0;
  std::uint32_t seccomp = 0;
};
struct Failed {
  std::uint32_t step = 0;  // Step
  std::int32_t error_number = 0;
  std::int32_t detail = 0;
};
struct Exited {
  std::int32_t wait_status = 0;
  std::uint32_t reserved = 0;
  std::int64_t user_time_us = 0;
  std::int64_t system_time_us = 0;
  std::int64_t max_rss_bytes = 0;
};
struct Over {
  std::int32_t wait_status = 0;   // of who supervised it
  std::int32_t error_number = 0;  // 0: nothing of it is left
  std::uint32_t step = 0;         // Step; not none when there was no room for it: it was not started
};
static_assert(sizeof(Hello) == 32 && sizeof(Open) == 24 && sizeof(Run) == 16 && sizeof(Exited) == 32);
static_assert(sizeof(Confined) == 8 && sizeof(Failed) == 12 && sizeof(Over) == 12);

enum class Sender { keeper, guest };

// Whether this sender may send a frame with this header at all: a type that exists, a length that it can have,
// a stream where it has one, an execution where it needs one. Its order is for who knows the execution.
bool is_valid(const FrameHeader& header, Sender sender);

}  // namespace exechost::guest
