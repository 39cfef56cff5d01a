// The classes a backend derives from. Included by backend.hpp.
#ifndef EXECHOST_BACKEND_INTERFACE_HPP
#define EXECHOST_BACKEND_INTERFACE_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/backend/call.hpp"
#include "exechost/backend/host.hpp"
#include "exechost/backend/outcome.hpp"
#include "exechost/backend/support.hpp"
#include "exechost/plugin.h"

namespace exechost::sdk {
inline namespace v1 {

// What Environment::spawn is asked to start. A view.
class SpawnRequest {
 public:
  explicit SpawnRequest(const eh_spawn* raw) noexcept : raw_(raw) {}

  const eh_spawn* raw() const noexcept { return raw_; }
  std::vector<std::string> arguments() const { return copies(raw_->arguments, raw_->argument_count); }
  std::vector<std::string> environment() const { return copies(raw_->environment, raw_->environment_count); }
  std::string_view working_directory() const noexcept { return to_view(raw_->working_directory); }
  bool tty() const noexcept { return raw_->tty == 1; }
  int stdin_fd() const noexcept { return raw_->stdin_fd; }
  int stdout_fd() const noexcept { return raw_->stdout_fd; }
  int stderr_fd() const noexcept { return raw_->stderr_fd; }
  // True: arguments() are the guest's and control_fd() has to become its descriptor 3.
  bool has_guest() const noexcept { return raw_->control_fd >= 0; }
  int control_fd() const noexcept { return raw_->control_fd; }

 private:
  static std::vector<std::string> copies(const eh_str* texts, std::uint32_t count) {
    std::vector<std::string> out;
    out.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) out.emplace_back(to_view(texts[i]));
    return out;
  }

  const eh_spawn* raw_;
};

struct Event {
  enum class Kind : std::int32_t { started = EH_EVENT_STARTED, ended = EH_EVENT_ENDED };
  Kind kind = Kind::started;
  int wait_status = 0;  // as waitpid(2)
  std::int64_t user_time_us = 0;
  std::int64_t system_time_us = 0;
  std::int64_t max_rss_bytes = 0;
};

// One started command. The destructor kills a command that still runs, with its whole tree.
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  virtual ~Execution() = default;
  // Readable when wait() has something new; yours. [any]
  virtual int event_fd() = 0;
  // Never blocks: an event, nothing new (nullopt), or the failure that ends it. [session]
  virtual Outcome<std::optional<Event>> wait(const Call& call) = 0;
  // To the command's process group; 9 kills the whole tree. 0 or -errno. Never blocks. [any]
  virtual int signal(int number) = 0;
};

// One open environment.
class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  virtual ~Environment() = default;
  // Starts a command; returns as soon as the start is under way. [any]
  virtual Outcome<std::unique_ptr<Execution>> spawn(const SpawnRequest& request, const Call& call) = 0;
  // Ends the environment and everything in it. Success only when nothing of it is left: the
  // object is then destroyed. After a failure it may be called again. [session]
  virtual Outcome<void> close(bool purge, const Call& call) = 0;
  // An extension table by id that lives as long as this object, or null. [any]
  virtual const void* get_extension(std::string_view id) {
    (void)id;
    return nullptr;
  }
};

// What Backend::open gives.
struct Opened {
  std::unique_ptr<Environment> environment;
  std::string answer;  // {"init":"path of the guest inside","details":{}}
};

// The plugin's one object. A derived class has
//   static Outcome<std::unique_ptr<Backend>> create(Host host, std::string_view settings, const Call& call);
// `settings` is one JSON object, validated against the manifest's schema and with its defaults.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;
  // The probe document (plugin.h): what holds on this machine now. At most 2 s, no side effects. [any]
  virtual Outcome<std::string> probe(const Call& call) = 0;
  // Opens an environment from the open document. [any]
  virtual Outcome<Opened> open(std::string_view document, const Call& call) = 0;
  // Removes what an environment left behind, from its ledger entry alone, in a process that never
  // opened it. Idempotent; success only when nothing is left. [any]
  virtual Outcome<void> reap(std::string_view entry, const Call& call) = 0;
  // A JSON array of {"name","labels"} of everything that carries ExecHost's labels. [any]
  virtual Outcome<std::string> list(const Call& call) = 0;
  // An extension table by id that lives as long as this object, or null. [any]
  virtual const void* get_extension(std::string_view id) {
    (void)id;
    return nullptr;
  }
};

}  // namespace v1
}  // namespace exechost::sdk

#endif
