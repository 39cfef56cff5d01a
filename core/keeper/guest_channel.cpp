#include "core/keeper/guest_channel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/base/utf8.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/shell/program.hpp"
#include "core/keeper/shell/text.hpp"
#include "guest/spec_writer.hpp"

namespace exechost::keeper {
namespace {

using guest::MessageType;
using guest::Step;

constexpr std::size_t kMaxShown = 200;

Failure broken(std::string message) {
  return make_failure(FailureKind::protocol_error, Phase::run, std::move(message), "guest");
}

void add_confinement(const plan::Confinement& confinement, guest::SpecWriter& writer) {
  if (!confinement.seccomp_profile.empty()) writer.set_seccomp_profile(confinement.seccomp_profile);
  writer.set_landlock(confinement.landlock);
  for (const auto& rule : confinement.landlock_rules) {
    if (rule.writable) {
      writer.add_landlock_write(rule.path);
    } else {
      writer.add_landlock_read(rule.path);
    }
  }
  for (const auto& check : confinement.view_checks) {
    writer.add_view_check(check.path, check.device, check.inode, check.same);
  }
}

Result<UniqueFd> make_spec(const SpawnRequest& request, bool served, const shell::Program* program) {
  guest::SpecWriter writer;
  for (const auto& argument : program != nullptr ? program->argv : request.argv) writer.add_argument(argument);
  for (const auto& variable : program != nullptr ? program->variables : request.variables) {
    writer.add_environment(variable);
  }
  if (program != nullptr) {
    for (const auto& argument : program->fallback) writer.add_fallback_argument(argument);
    for (const int number : {shell::kStateIn, shell::kStateOut}) {
      writer.add_descriptor(static_cast<std::uint32_t>(number));
    }
  }
  if (!request.cwd.empty()) writer.set_working_directory(request.cwd);
  writer.set_tty(request.tty);
  const auto& confinement = request.confinement;
  if (confinement.none) writer.set_unconfined(true);
  if (served) {
    writer.set_inherited(true);
  } else {
    add_confinement(confinement, writer);
  }
  for (const auto& limit : confinement.rlimits) {
    if (limit.resource < 0) {
      return unexpected(make_failure(FailureKind::invalid_request, Phase::spawn,
                                     fmt::format("there is no resource limit {}", limit.resource), "rlimit"));
    }
    writer.add_rlimit(static_cast<std::uint32_t>(limit.resource), limit.value);
  }
  return writer.seal();
}

std::string shown(const std::string& bytes) {
  std::string text = escape_for_terminal(to_valid_utf8(bytes.substr(0, kMaxShown)));
  if (bytes.size() > kMaxShown) text += "...";
  return text;
}

std::string_view name_of(Step step) {
  switch (step) {
    case Step::read_spec: return "read_spec";
    case Step::no_new_privs: return "no_new_privs";
    case Step::capabilities: return "capabilities";
    case Step::rlimit: return "rlimit";
    case Step::landlock: return "landlock";
    case Step::seccomp: return "seccomp";
    case Step::fork: return "fork";
    case Step::session: return "session";
    case Step::terminal: return "terminal";
    case Step::descriptors: return "descriptors";
    case Step::working_directory: return "working_directory";
    case Step::exec: return "exec";
    case Step::mounts: return "mounts";
    case Step::view: return "view";
    case Step::cgroup: return "cgroup";
    case Step::tree: return "tree";
    case Step::none: break;
  }
  return "unknown";
}

}  // namespace

Result<GuestChannel> GuestChannel::make(const SpawnRequest& request, UniqueFd& guest_end, bool served,
                                        const shell::Program* program) {
  auto spec = make_spec(request, served, program);
  if (!spec) return unexpected(spec.error());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    const int error = errno;
    return unexpected(make_failure(FailureKind::spawn_failed, Phase::spawn,
                                   fmt::format("no socket for the guest: {}", std::strerror(error)), "socketpair",
                                   error));
  }
  GuestChannel channel((UniqueFd(ends[0])));
  guest_end.reset(ends[1]);  // stays blocking: the guest waits on it
  if (auto sent = guest::send_spec(channel.fd(), spec->get()); !sent) return unexpected(sent.error());
  return channel;
}

Result<void> GuestChannel::check_order(const guest::Message& message) {
  const auto out_of_order = [&message] {
    return unexpected(
        broken(fmt::format("the guest sent message {} out of order", static_cast<std::uint32_t>(message.type))));
  };
  if (exited_ || failed_) return out_of_order();
  switch (message.type) {
    case MessageType::confined:
      if (confined_ || started_) return out_of_order();
      confined_ = true;
      return {};
    case MessageType::started:
      if (started_) return out_of_order();
      started_ = true;
      return {};
    case MessageType::failed:
      if (started_) return out_of_order();
      failed_ = true;
      return {};
    case MessageType::exited:
      if (!started_) return out_of_order();
      exited_ = true;
      return {};
    default:
      return unexpected(
          broken(fmt::format("the guest sent a message of unknown type {}", static_cast<std::uint32_t>(message.type))));
  }
}

Result<GuestChannel::Read> GuestChannel::read(guest::Message& message) {
  // One byte more than a message, so that a longer packet shows; no room for descriptors, which
  // the kernel then drops and flags.
  unsigned char buffer[sizeof message + 1];
  iovec bytes{buffer, sizeof buffer};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // ECONNRESET (it ended with something unread) is told once; what it had sent is still there.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Read::nothing;
  if (got <= 0) return Read::closed;
  if (got != static_cast<ssize_t>(sizeof message) || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return unexpected(broken(fmt::format("the guest sent a packet that is no message ({} bytes)", got)));
  }
  std::memcpy(&message, buffer, sizeof message);
  if (auto order = check_order(message); !order) return unexpected(order.error());
  return Read::message;
}

bool GuestChannel::send(const guest::Message& message) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket_.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}

bool GuestChannel::send_signal(int number) {
  guest::Message message;
  message.type = MessageType::signal;
  message.version = guest::kProtocolVersion;
  message.number = number;
  return send(message);
}

bool GuestChannel::send_kill() {
  guest::Message message;
  message.type = MessageType::kill;
  message.version = guest::kProtocolVersion;
  return send(message);
}

Failure describe_guest_failure(const guest::Message& message, const SpawnRequest& request) {
  const std::string_view step = name_of(message.step);
  // The guest may lie: only what can be an errno is taken as one.
  const int error = message.error_number > 0 && message.error_number < 4096 ? message.error_number : 0;
  const std::string reason = error != 0 ? std::strerror(error) : "no reason given";
  const std::string command = request.argv.empty() ? std::string() : shown(request.argv.front());
  std::string text;
  std::string hint;
  if (message.step == Step::exec && error == ENOENT) {
    text = fmt::format("the command \"{}\" was not found in the environment", command);
    hint = "check its name and PATH; the file and its interpreter must be visible inside the environment";
  } else if (message.step == Step::exec && error == EACCES) {
    text = fmt::format("the command \"{}\" may not be executed in the environment", command);
    hint = "check that the file is executable and on a file system that allows it";
  } else if (message.step == Step::exec) {
    text = fmt::format("the command \"{}\" could not be started: {}", command, reason);
  } else if (message.step == Step::working_directory) {
    text = fmt::format("the working folder \"{}\" can't be entered in the environment: {}", shown(request.cwd), reason);
    hint = "it must exist inside the environment: below the workspace, or shown by the policy";
  } else if (message.step == Step::view) {
    const auto& checks = request.confinement.view_checks;
    const auto index = static_cast<std::size_t>(message.number);  // out of range when it is negative
    const std::string path = index < checks.size() ? shown(checks[index].path) : "a path of the view";
    text = fmt::format("\"{}\" is not what it was when the run was planned: {}", path, reason);
    hint =
        "it was replaced in the meantime, perhaps by a command that still runs in a folder it may write: run again; or "
        "the backend claims files and does not carry out the view";
  } else {
    text = fmt::format("the command \"{}\" was not started: step {} failed: {}", command, step, reason);
  }
  return make_failure(FailureKind::spawn_failed, Phase::spawn, std::move(text), std::string(step), error,
                      std::move(hint));
}

}  // namespace exechost::keeper
