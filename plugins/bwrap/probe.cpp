#include "probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace exechost::bwrap {
namespace {

using nlohmann::json;

std::string not_ready(const std::string& reason, const std::string& hint) {
  return json{{"ready", false}, {"reason", reason}, {"hint", hint}, {"capabilities", json::object()}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

struct Ran {
  int status = 0;
  std::string output;  // standard output and error together, cut at 16 KiB
};

// Ends a bwrap that nobody waits for any more, whose child may be waiting for its word: which would then never
// come. Stopped it starts nothing, so that the children it has are all there are.
void end_whole(const sdk::Process& process) {
  const std::string folder = "/proc/" + std::to_string(process.pid());
  if (process.pid() <= 1 || process.signal(SIGSTOP) != 0) return;
  constexpr int kMostLooks = 200;
  constexpr int kLookMs = 1;
  for (int look = 0; look < kMostLooks; ++look) {
    // "PID (bwrap) T ...": it is stopped, or has ended
    std::string state;
    std::getline(std::ifstream(folder + "/stat"), state);
    const std::size_t end = state.rfind(") ");
    if (end == std::string::npos ||
        (end + 2 < state.size() && state[end + 2] != 'R' && state[end + 2] != 'S' && state[end + 2] != 'D')) {
      break;
    }
    ::poll(nullptr, 0, kLookMs);
  }
  std::ifstream children(folder + "/task/" + std::to_string(process.pid()) + "/children");
  // They can't be others by now: their parent doesn't wait for them.
  for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
}

sdk::Outcome<Ran> run(const sdk::Host& host, const std::vector<std::string>& arguments, const sdk::Call& call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    sdk::Failure failure;
    failure.message = "no pipe for bwrap's output";
    failure.error_number = errno;
    failure.step = "pipe";
    return failure;
  }
  sdk::Fd read_end(ends[0]);
  sdk::Fd write_end(ends[1]);
  sdk::ProcessSpec spec;
  spec.arguments = arguments;
  spec.descriptors = {-1, write_end.get(), write_end.get()};
  // Ends by itself; killed at a bad moment it would leave its child waiting (see arguments.cpp).
  spec.outlives_keeper = true;
  sdk::Outcome<sdk::Process> process = host.spawn(spec, call);
  if (!process) return process.failure();
  write_end.reset();
  sdk::Outcome<int> status = process->wait(call);
  if (!status) {
    end_whole(*process);
    return status.failure();
  }
  Ran ran;
  ran.status = *status;
  char buffer[4096];
  for (ssize_t count = 0; ran.output.size() < 16384 && (count = ::read(read_end.get(), buffer, sizeof buffer)) > 0;) {
    ran.output.append(buffer, static_cast<std::size_t>(count));
  }
  while (!ran.output.empty() && ran.output.back() == '\n') ran.output.pop_back();
  return ran;
}

}  // namespace

sdk::Outcome<std::string> probe(const sdk::Host& host, const std::string& configured_path, const sdk::Call& call) {
  const auto found = find_program(configured_path);
  if (const auto* problem = std::get_if<ProgramProblem>(&found)) return not_ready(problem->message, problem->hint);
  const std::string& path = std::get<Program>(found).path;

  // Everything this backend asks for, at once, and inside it bwrap's own --version: no other
  // program has to exist.
  std::vector<std::string> arguments{path};
  for (const char* option : {"--unshare-user",
                             "--unshare-pid",
                             "--unshare-ipc",
                             "--unshare-uts",
                             "--unshare-cgroup",
                             "--unshare-net",
                             "--as-pid-1",
                             "--cap-drop",
                             "ALL",
                             "--clearenv",
                             "--ro-bind",
                             "/",
                             "/",
                             "--proc",
                             "/proc",
                             "--dev",
                             "/dev",
                             "--perms",
                             "0700",
                             "--size",
                             "65536",
                             "--tmpfs",
                             "/tmp",
                             "--"}) {
    arguments.emplace_back(option);
  }
  arguments.push_back(path);
  arguments.emplace_back("--version");
  sdk::Outcome<Ran> ran = run(host, arguments, call);
  if (!ran) return ran.failure();
  if (!WIFEXITED(ran->status) || WEXITSTATUS(ran->status) != 0) {
    return not_ready("bwrap can't build an environment here: " + ran->output,
                     "user namespaces may be switched off (sysctl user.max_user_namespaces, "
                     "kernel.apparmor_restrict_unprivileged_userns) or this container may forbid them");
  }

  // A probe states everything that holds: what it leaves out counts as unsupported.
  const std::string evidence = ran->output + " at " + path + " built an environment with every namespace";
  json capabilities = json::object();
  for (const char* name : {"files", "processes", "users", "network.none", "network.full", "tree_kill", "stdin", "pty",
                           "resize", "signals"}) {
    capabilities[name] = {{"grade", "kernel"}, {"evidence", evidence}};
  }
  if (::access("/proc/sys/kernel/seccomp/actions_avail", F_OK) == 0) {
    capabilities["syscalls"] = {{"grade", "kernel"}, {"evidence", "the kernel has seccomp filters"}};
  } else {
    capabilities["syscalls"] = {{"grade", "unsupported"},
                                {"evidence", "/proc/sys/kernel/seccomp/actions_avail is missing: no seccomp filters"}};
  }
  // How a guest that serves many commands finds what one of them has left (proc_pid_task(5)).
  if (::access("/proc/thread-self/children", R_OK) == 0) {
    capabilities["persistent"] = {{"grade", "kernel"}, {"evidence", evidence}};
  } else {
    capabilities["persistent"] = {{"grade", "unsupported"},
                                  {"evidence", "/proc/thread-self/children is missing: no CONFIG_PROC_CHILDREN"}};
  }
  if (geteuid() == 0) {
    // copy_process() in the kernel exempts the root user from RLIMIT_NPROC.
    capabilities["pids"] = {{"grade", "unsupported"}, {"evidence", "root is exempt from RLIMIT_NPROC (getrlimit(2))"}};
  } else {
    capabilities["pids"] = {{"grade", "kernel"},
                            {"evidence", "RLIMIT_NPROC counts this user's processes (getrlimit(2))"}};
  }
  return json{{"ready", true}, {"reason", ""}, {"hint", ""}, {"capabilities", capabilities}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

}  // namespace exechost::bwrap
