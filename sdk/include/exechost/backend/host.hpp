// What the host offers to a backend. Included by backend.hpp.
#ifndef EXECHOST_BACKEND_HOST_HPP
#define EXECHOST_BACKEND_HOST_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exechost/backend/call.hpp"
#include "exechost/backend/outcome.hpp"
#include "exechost/backend/support.hpp"
#include "exechost/plugin.h"

namespace exechost::sdk {
inline namespace v1 {

// A secret's bytes; overwritten when it goes away.
class Secret {
 public:
  explicit Secret(std::size_t capacity) : bytes_(capacity, '\0') {}
  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      wipe();
      bytes_ = std::move(other.bytes_);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  friend class Host;
  // explicit_bzero is not in every C library; a volatile write is not optimised away.
  void wipe() noexcept {
    for (char& c : bytes_) *static_cast<volatile char*>(&c) = 0;
  }
  std::vector<char> bytes_;
  std::size_t size_ = 0;
};

// A local process that the host started for us. Move-only; destroying it kills a process that
// still runs and forgets it.
class Process {
 public:
  Process() = default;
  Process(const eh_host* host, eh_process handle) noexcept : host_(host), handle_(handle) {}
  Process(Process&& other) noexcept : host_(other.host_), handle_(std::exchange(other.handle_, 0)) {}
  Process& operator=(Process&& other) noexcept {
    if (this != &other) {
      reset();
      host_ = other.host_;
      handle_ = std::exchange(other.handle_, 0);
    }
    return *this;
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { reset(); }

  explicit operator bool() const noexcept { return handle_ != 0; }
  // Readable when it has ended; stays the host's. [any]
  int pidfd() const noexcept { return host_->process_pidfd(host_->context, handle_); }
  // Its process id, or -1. Valid until it has ended and its status was taken: what it is for is to find what
  // it started, in /proc/PID/task/PID/children (proc(5)). pidfd_open(2): a pidfd shows it in /proc. [any]
  long pid() const {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd()));
    for (std::string line; std::getline(info, line);) {
      if (line.rfind("Pid:", 0) == 0) return std::strtol(line.c_str() + 4, nullptr, 10);
    }
    return -1;
  }
  // The status as waitpid(2) gives it, once it has ended. Never blocks. [any]
  std::optional<int> try_wait() const noexcept {
    std::int32_t status = 0;
    if (host_->process_wait(host_->context, handle_, &status) != EH_OK) return std::nullopt;
    return status;
  }
  // Waits for the end; stops for the call's deadline and cancellation (the process then runs on).
  Outcome<int> wait(const Call& call) const {
    if (Outcome<void> ended = call.wait_for(pidfd()); !ended) return ended.failure();
    if (const std::optional<int> status = try_wait()) return *status;
    Failure failure;
    failure.message = "the host gave no status of a process that has ended";
    failure.step = "wait";
    return failure;
  }
  // 0 or -errno. To this process only. [any]
  int signal(int number) const noexcept { return host_->process_signal(host_->context, handle_, number); }
  void reset() noexcept {
    if (handle_ != 0) host_->process_release(host_->context, std::exchange(handle_, 0));
  }

 private:
  const eh_host* host_ = nullptr;
  eh_process handle_ = 0;
};

// A process to start. It gets exactly these arguments, variables and descriptors.
struct ProcessSpec {
  std::vector<std::string> arguments;    // arguments[0]: absolute path of the program
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> descriptors;          // child's i is a duplicate of [i]; -1: /dev/null; 3 to 256
  std::string working_directory{};       // empty: /
  bool outlives_keeper = false;          // EH_PROCESS_OUTLIVES_KEEPER
};

// The host's services. A copyable view, valid as long as the backend lives. [any]
class Host {
 public:
  explicit Host(const eh_host* raw) noexcept : raw_(raw) {}

  const eh_host* raw() const noexcept { return raw_; }
  void log(int level, std::string_view text) const noexcept { raw_->log(raw_->context, level, to_eh(text)); }
  void debug(std::string_view text) const noexcept { log(EH_LOG_DEBUG, text); }
  void info(std::string_view text) const noexcept { log(EH_LOG_INFO, text); }
  void warning(std::string_view text) const noexcept { log(EH_LOG_WARNING, text); }
  void error(std::string_view text) const noexcept { log(EH_LOG_ERROR, text); }
  std::int64_t now_ns() const noexcept { return raw_->now_ns(raw_->context); }

  // The secret of that name, or nothing when there is none.
  std::optional<Secret> secret(std::string_view name) const {
    std::size_t capacity = 256;
    // It may grow between two calls; more than a few rounds is a broken host.
    for (int attempt = 0; attempt < 4; ++attempt) {
      Secret secret(capacity);
      const std::int64_t length = raw_->secret(raw_->context, to_eh(name), secret.bytes_.data(), capacity);
      if (length < 0) return std::nullopt;
      if (static_cast<std::uint64_t>(length) <= capacity) {
        secret.size_ = static_cast<std::size_t>(length);
        return secret;
      }
      capacity = static_cast<std::size_t>(length);
    }
    return std::nullopt;
  }

  // Starts a process of the keeper. Its failure is already reported to `call` with errno and
  // step: return it as it is, or report nothing and go on.
  Outcome<Process> spawn(const ProcessSpec& spec, const Call& call) const {
    const std::vector<eh_str> arguments = views(spec.arguments);
    const std::vector<eh_str> environment = views(spec.environment);
    const std::vector<std::int32_t> descriptors(spec.descriptors.begin(), spec.descriptors.end());
    eh_process_spec raw_spec{};
    raw_spec.struct_size = sizeof raw_spec;
    raw_spec.arguments = arguments.data();
    raw_spec.argument_count = static_cast<std::uint32_t>(arguments.size());
    raw_spec.environment = environment.data();
    raw_spec.environment_count = static_cast<std::uint32_t>(environment.size());
    raw_spec.descriptors = descriptors.data();
    raw_spec.descriptor_count = static_cast<std::uint32_t>(descriptors.size());
    raw_spec.working_directory = to_eh(spec.working_directory);
    raw_spec.flags = spec.outlives_keeper ? EH_PROCESS_OUTLIVES_KEEPER : 0;
    eh_process handle = 0;
    const eh_status status = raw_->spawn(raw_->context, &raw_spec, call.raw(), &handle);
    if (status == EH_TIMED_OUT) return Failure::timed_out();
    if (status == EH_CANCELLED) return Failure::cancelled();
    if (status != EH_OK || handle == 0) return Failure::reported();
    return Process(raw_, handle);
  }

 private:
  static std::vector<eh_str> views(const std::vector<std::string>& texts) {
    std::vector<eh_str> out;
    out.reserve(texts.size());
    for (const std::string& text : texts) out.push_back(to_eh(text));
    return out;
  }

  const eh_host* raw_;
};

}  // namespace v1
}  // namespace exechost::sdk

#endif
