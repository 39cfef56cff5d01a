#include "core/keeper/detached_start.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/cleanup/own_folder.hpp"
#include "core/keeper/codec.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/keeper_program.hpp"

namespace exechost::keeper {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(8);  // longer than one that ends takes
// The kernel tells of a closed file before it lets go of its lock, and of that it tells nobody.
constexpr auto kLookAgain = std::chrono::milliseconds(50);
constexpr int kHelloMs = 5000;
constexpr const char* kWhat = "the keepers' folder";

Failure unavailable(std::string message, std::string step, int error = 0, std::string hint = {}) {
  if (error != 0) message += fmt::format(": {}", std::strerror(error));
  return make_failure(FailureKind::unavailable, Phase::provision, std::move(message), std::move(step), error,
                      std::move(hint));
}

// Empty: nobody listens there (any more).
Result<UniqueFd> try_connect(int folder, const std::string& name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return unexpected(unavailable("no socket for the keeper", "socket", errno));
  const auto address = address_in(folder, name + ".sock");
  if (!address) return unexpected(unavailable(fmt::format("the keeper's name \"{}\" is too long", name), "name"));
  const timeval patience{kHelloMs / 1000, 0};  // unix(7): connect waits while too many others do
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return UniqueFd();
    return unexpected(unavailable("the detached keeper can't be reached", "connect", errno));
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid()) {
    return unexpected(unavailable(fmt::format("the keeper \"{}\" is of another user ({})", name, peer.uid), "peer"));
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

// Its first word. False: it ended instead.
Result<bool> is_welcome(int socket) {
  pollfd ready{socket, POLLIN, 0};
  int count = 0;
  do {
    count = ::poll(&ready, 1, kHelloMs);
  } while (count < 0 && errno == EINTR);
  if (count == 0) return unexpected(unavailable("the detached keeper does not answer", "hello"));
  Packet packet;
  const auto received = receive_packet(socket, packet);
  if (!received) return unexpected(received.error());
  if (*received != ReceiveResult::received) return false;
  const auto message = decode_keeper_message(packet.body);
  const Reply* const hello = message ? std::get_if<Reply>(&message->body) : nullptr;
  const bool known = hello != nullptr && hello->body.is_object() && hello->body.contains("protocol") &&
                     hello->body.at("protocol") == kProtocolVersion;
  if (known && hello->body.value("full", false)) {
    return unexpected(unavailable("the detached keeper has as many connections as it takes", "hello", 0,
                                  "end some of the programs that use its sessions"));
  }
  if (known) return true;
  return unexpected(unavailable("the detached keeper of this user is of another version of ExecHost", "hello", 0,
                                "stop its sessions with that version (exechost stop --all); it ends soon afterwards"));
}

// What a keeper may need of an environment; not what the first of its hosts happens to have in it.
std::vector<std::string> keeper_environment() {
  constexpr std::array<std::string_view, 8> kNames{
      "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH"};
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    // The last are a sanitizer's, in a developer's build.
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name.starts_with("EXECHOST_KEEPER_") ||
        name.ends_with("SAN_OPTIONS")) {
      kept.emplace_back(text);
    }
  }
  return kept;
}

// Its exit status (detached.hpp).
Result<int> start_one(const DetachedPlace& place, const std::string& program, const KeeperOptions& options) {
  std::vector<std::string> variables = keeper_environment();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const auto started = spawn_keeper_program(program,
                                            {"--ledger", options.ledger_folder, "--guest", options.guest_path,
                                             "--detached", place.folder, "--name", place.name},
                                            -1, environment.data());
  if (!started) return unexpected(started.error());
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(*started, &status, 0);
  } while (ended < 0 && errno == EINTR);
  // ECHILD: this process has SIGCHLD ignored; whether it serves shows when it is asked.
  if (ended < 0) return kDetachedServes;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kDetachedCantServe;
}

// Sees that a keeper's socket gets its name, or that a keeper has ended (detached.cpp, hold_open).
class PlaceWatch {
 public:
  explicit PlaceWatch(int folder) : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    const std::string path = fmt::format("/proc/self/fd/{}", folder);
    if (events_ && ::inotify_add_watch(events_.get(), path.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) events_.reset();
  }
  // What happened since the last time counts, too. Without a watch: at once.
  void wait(std::chrono::milliseconds at_most) const {
    if (!events_) return;
    pollfd ready{events_.get(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(at_most.count()));
    std::array<char, 4096> buffer{};
    while (::read(events_.get(), buffer.data(), buffer.size()) > 0) {
    }
  }

 private:
  UniqueFd events_;
};

}  // namespace

std::optional<sockaddr_un> address_in(int folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, name);
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<UniqueFd> find_detached(const DetachedPlace& place) {
  auto folder = cleanup::open_own_folder(place.folder, kWhat);
  if (!folder) {
    if (folder.error().error_number == ENOENT) return UniqueFd();
    return unexpected(folder.error());
  }
  auto socket = try_connect(folder->get(), place.name);
  if (!socket || !*socket) return socket;
  const auto welcome = is_welcome(socket->get());
  if (!welcome) return unexpected(welcome.error());
  if (!*welcome) return UniqueFd();
  return socket;
}

Result<UniqueFd> connect_detached(const DetachedPlace& place, const std::string& program,
                                  const KeeperOptions& options) {
  const auto folder = cleanup::make_own_folder(place.folder, kWhat);
  if (!folder) return unexpected(folder.error());
  const auto until = steady_clock::now() + kPatience;
  const PlaceWatch changes(folder->get());
  for (;;) {
    auto found = find_detached(place);
    if (!found || *found) return found;
    const auto status = start_one(place, program, options);
    if (!status) return unexpected(status.error());
    if (*status != kDetachedServes && *status != kDetachedOtherServes) {
      return unexpected(unavailable(fmt::format("no keeper can be started in \"{}\"", place.folder), "keeper", 0,
                                    "set XDG_RUNTIME_DIR to a folder of your own on a local file system"));
    }
    if (steady_clock::now() >= until) {
      return unexpected(unavailable(fmt::format("the keeper in \"{}\" does not listen", place.folder), "keeper"));
    }
    // Another one is about to listen, or about to end.
    if (*status == kDetachedOtherServes) changes.wait(kLookAgain);
  }
}

}  // namespace exechost::keeper
