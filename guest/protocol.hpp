// What the keeper and exechost-guest say to each other over SOCK_SEQPACKET sockets (the guest's
// descriptor 3). One packet is one message.
//
// The first packet comes from the keeper: `spec`, with one descriptor attached: a sealed memfd
// that holds the specification (spec.hpp). After it, for one command:
//   keeper -> guest: signal, kill            guest -> keeper: confined, started, failed, exited
// and in `serve` mode, where commands come later, each with a socket of the kind above for itself:
//   keeper -> guest: run, end                guest -> keeper: confined or failed, then over
// A socket's end-of-file tells the guest to kill everything that it is about.
//
// Used by a static program without iostream, locale or NSS: plain structs and integers only.
#pragma once

#include <cstdint>

namespace exechost::guest {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr int kControlFd = 3;
inline constexpr int kRunDescriptors = 4;
inline constexpr int kMostFurtherDescriptors = 2;  // that the specification places in the command
inline constexpr int kMostRunDescriptors = kRunDescriptors + kMostFurtherDescriptors;

enum class MessageType : std::uint32_t {
  spec = 1,      // version
  signal = 2,    // number: to the command's process group
  kill = 3,      // the whole tree, now
  confined = 4,  // landlock_abi, seccomp
  started = 5,   // the command's exec succeeded
  failed = 6,    // step, error_number: the command was not started
  exited = 7,    // wait_status and usage of the main process; everything else is killed next
  run = 8,       // number: of an execution; kRunDescriptors descriptors: its control socket and stdio; then those
                 // that its specification places
  end = 9,       // number: nothing of that execution may stay
  over = 10,     // number; wait_status of who supervised it; error_number: 0, or it is not proven that nothing is left
                 // of it; step: not none when there was no one to supervise it, so that it was not started
};

// The step that failed, for MessageType::failed.
enum class Step : std::uint32_t {
  none = 0,
  read_spec,
  no_new_privs,
  capabilities,
  rlimit,
  landlock,
  seccomp,
  fork,
  session,
  terminal,
  descriptors,
  working_directory,  // chdir(cwd)
  exec,
  mounts,  // the mount tree cut off from the host's
  view,    // number: index of the path that is not what it should be
  cgroup,  // making the command a member of its own cgroup
  tree,    // what the command starts could not be found again
};

struct Message {
  MessageType type{};
  std::uint32_t version = 0;
  std::int32_t number = 0;  // signal; index of a view check
  std::uint32_t landlock_abi = 0;
  std::uint32_t seccomp = 0;  // 1: installed
  Step step = Step::none;
  std::int32_t error_number = 0;
  std::int32_t wait_status = 0;  // as waitpid(2)
  std::int64_t user_time_us = 0;
  std::int64_t system_time_us = 0;
  std::int64_t max_rss_bytes = 0;
};
static_assert(sizeof(Message) == 56);

}  // namespace exechost::guest
