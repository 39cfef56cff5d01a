// Level 3: what is claimed to be out of reach is.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/unique_fd.hpp"
#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {
namespace {

// Somebody to connect to on this machine.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (socket_ && ::bind(socket_.get(), generic, size) == 0 && ::listen(socket_.get(), 8) == 0 &&
        ::getsockname(socket_.get(), generic, &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }
  int port() const { return port_; }  // 0: there is none
  bool was_reached() const {
    pollfd waiting{socket_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

constexpr int kNoTool = 99;

// With whatever there is; 0: connected.
std::string connecting_to(int port) {
  return fmt::format(R"(if command -v bash >/dev/null; then bash -c 'exec 3<>/dev/tcp/127.0.0.1/{0}' 2>/dev/null
elif command -v python3 >/dev/null; then python3 -c 'import socket; socket.create_connection(("127.0.0.1", {0}), 2)' 2>/dev/null
elif command -v perl >/dev/null; then perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:{0}") or exit 1' 2>/dev/null
else exit {1}; fi)",
                     port, kNoTool);
}

Verdict no_network(Subject& subject) {
  if (!subject.claims("network.none")) return Verdict::unchecked(subject.not_claimed("network.none"));
  const Listener listener;
  if (listener.port() == 0) return Verdict::unchecked("nothing can listen on this machine's loopback");
  Request request = subject.script(connecting_to(listener.port()));
  Subject::add_settings(request, {{"network", {{"mode", "none"}}}});
  const ExecResult result = subject.run(request);
  if (listener.was_reached()) return Verdict::failed("without network, a service of this machine was reached");
  if (result.status != Status::exited) return Verdict::failed(fmt::format("connecting: it {}", in_words(result)));
  if (result.exit_code == kNoTool)
    return Verdict::unchecked("the environment has no bash, python3 or perl to connect with");
  if (result.exit_code == 0) return Verdict::failed("without network, a connection was made");
  return Verdict::passed();
}

Verdict files_outside(Subject& subject) {
  if (!subject.claims("files")) return Verdict::unchecked(subject.not_claimed("files"));
  const std::string secret = subject.scratch().outside() + "/secret";
  const std::string made = subject.scratch().outside() + "/made";
  if (auto written = write_file(secret, "do not read\n"); !written) return Verdict::unchecked(written.error().message);
  const ExecResult result = subject.run(subject.script(
      fmt::format("cat '{}'; echo x > '{}'; echo x > '{}'; echo inside > inside; cat inside", secret, made, secret)));
  if (result.out.data.find("do not read") != std::string::npos)
    return Verdict::failed("a file outside the workspace was read");
  if (std::filesystem::exists(made)) return Verdict::failed("a file outside the workspace was made");
  if (read_file(secret) != "do not read\n") return Verdict::failed("a file outside the workspace was changed");
  if (!result.out.data.ends_with("inside\n"))
    return Verdict::failed(
        fmt::format("the workspace can't be written: it {}, {}", in_words(result), shown(result.err.data)));
  if (subject.shares_workspace() && read_file(subject.scratch().workspace() + "/inside") != "inside\n")
    return Verdict::failed("what was written in the workspace is not there");
  return Verdict::passed();
}

Verdict other_processes(Subject& subject) {
  if (!subject.claims("processes")) return Verdict::unchecked(subject.not_claimed("processes"));
  if (!subject.shares_workspace()) return Verdict::unchecked("its processes are not on this machine");
  // The keeper of this run is a process of this machine. The brackets keep the words from matching themselves.
  const ExecResult result = subject.run(subject.script(
      R"(cat /proc/[0-9]*/comm /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep 'exechost-kee[p]er')"));
  if (result.status != Status::exited) return Verdict::failed(fmt::format("looking at /proc: it {}", in_words(result)));
  if (result.exit_code == 0)
    return Verdict::failed("a process outside the environment is seen: " + shown(result.out.data));
  return Verdict::passed();
}

// proc(5): the lines of /proc/self/status.
Verdict has_status_line(Subject& subject, std::string_view capability, const std::string& pattern) {
  if (!subject.claims(capability)) return Verdict::unchecked(subject.not_claimed(capability));
  const ExecResult result = subject.run(subject.script(fmt::format("grep -E '{}' /proc/self/status", pattern)));
  if (result.status != Status::exited)
    return Verdict::failed(fmt::format("/proc/self/status: it {}", in_words(result)));
  if (result.exit_code == 2) return Verdict::unchecked("the environment has no /proc/self/status");
  if (result.exit_code != 0) return Verdict::failed(fmt::format("/proc/self/status has no line {}", pattern));
  return Verdict::passed();
}

}  // namespace

std::vector<Check> isolation_checks() {
  return {{Level::limits, "isolation.network", "without network no socket connects", no_network},
          {Level::limits, "isolation.files", "nothing outside the workspace is read or written", files_outside},
          {Level::limits, "isolation.processes", "no process outside is seen", other_processes},
          {Level::limits, "isolation.users", "the command has no rights beyond its own files'",
           [](Subject& subject) { return has_status_line(subject, "users", "^CapEff:[[:space:]]*0+$"); }},
          {Level::limits, "isolation.syscalls", "a system call filter is in force",
           [](Subject& subject) { return has_status_line(subject, "syscalls", "^Seccomp:[[:space:]]*2$"); }}};
}

}  // namespace exechost::conformance
