#include "core/keeper/host_services.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <future>

#include "core/base/clock.hpp"
#include "core/base/utf8.hpp"
#include "core/keeper/failures.hpp"
#include "core/plugin/loader.hpp"

namespace exechost::keeper {
namespace {

constexpr std::uint32_t kMaxArguments = 1U << 20U;
constexpr std::size_t kMaxLogBytes = 4096;

HostServices& services(void* context) { return *static_cast<HostServices*>(context); }

eh_kind kind_of(FailureKind kind) { return static_cast<eh_kind>(kind) + EH_INVALID_REQUEST; }
static_assert(static_cast<int>(FailureKind::invalid_request) + EH_INVALID_REQUEST == EH_INVALID_REQUEST);
static_assert(static_cast<int>(FailureKind::plugin_crashed) + EH_INVALID_REQUEST == EH_PLUGIN_CRASHED);

void report(const eh_call* call, const Failure& failure) {
  if (call == nullptr || !EH_HAS(call, eh_call, fail) || call->fail == nullptr) return;
  eh_failure out{};
  out.struct_size = sizeof out;
  out.kind = kind_of(failure.kind);
  out.phase = EH_PHASE_SPAWN;
  out.error_number = failure.error_number;
  out.message = plugin::to_eh(failure.message);
  out.hint = plugin::to_eh(failure.hint);
  out.step = plugin::to_eh(failure.step);
  call->fail(call->context, &out);
}

Failure wrong(std::string message) {
  return make_failure(FailureKind::protocol_error, Phase::spawn, std::move(message), "spec");
}

Result<ProcessSpec> convert(const eh_process_spec* spec) {
  if (spec == nullptr || !EH_HAS(spec, eh_process_spec, working_directory)) {
    return unexpected(wrong("the backend's process specification is truncated"));
  }
  if (spec->argument_count > kMaxArguments || spec->environment_count > kMaxArguments ||
      spec->descriptor_count > kMaxChildDescriptors) {
    return unexpected(
        wrong(fmt::format("the backend's process specification has {} arguments, {} variables and {} descriptors",
                          spec->argument_count, spec->environment_count, spec->descriptor_count)));
  }
  if ((spec->argument_count > 0 && spec->arguments == nullptr) ||
      (spec->environment_count > 0 && spec->environment == nullptr) ||
      (spec->descriptor_count > 0 && spec->descriptors == nullptr)) {
    return unexpected(wrong("the backend's process specification has a null array"));
  }
  ProcessSpec out;
  for (std::uint32_t index = 0; index < spec->argument_count; ++index) {
    out.argv.push_back(plugin::from_eh(spec->arguments[index]));
  }
  for (std::uint32_t index = 0; index < spec->environment_count; ++index) {
    out.environment.push_back(plugin::from_eh(spec->environment[index]));
  }
  out.descriptors.assign(spec->descriptors, spec->descriptors + spec->descriptor_count);
  if (const std::string folder = plugin::from_eh(spec->working_directory); !folder.empty())
    out.working_directory = folder;
  if (EH_HAS(spec, eh_process_spec, flags)) out.outlives_launcher = (spec->flags & EH_PROCESS_OUTLIVES_KEEPER) != 0;
  return out;
}

// Off unless asked for: standard error may be the command's own.
void write_log(void* /*context*/, int32_t level, eh_str message) {
  const char* wanted = ::getenv("EXECHOST_KEEPER_LOG");
  if (wanted == nullptr || level < std::strtol(wanted, nullptr, 10)) return;
  const std::string text = plugin::from_eh({message.ptr, std::min<std::uint64_t>(message.len, kMaxLogBytes)});
  const std::string line = fmt::format("exechost-keeper: {}\n", escape_for_terminal(to_valid_utf8(text)));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// No secrets are handed to the keeper yet.
int64_t no_secret(void* /*context*/, eh_str /*name*/, char* /*buffer*/, uint64_t /*capacity*/) { return -1; }

int64_t now_ns(void* /*context*/) { return monotonic_now_ns(); }

eh_status spawn_process(void* context, const eh_process_spec* spec, const eh_call* call, eh_process* out) {
  try {
    if (out == nullptr) return EH_FAILED;
    *out = 0;
    auto converted = convert(spec);
    if (!converted) {
      report(call, converted.error());
      return EH_FAILED;
    }
    const auto process = services(context).spawn(std::move(*converted));
    if (!process) {
      report(call, process.error());
      return EH_FAILED;
    }
    *out = *process;
    return EH_OK;
  } catch (...) {
    return EH_FAILED;  // out of memory; nothing was started that its owner has not destroyed
  }
}

int32_t process_pidfd(void* context, eh_process process) {
  const auto found = services(context).find(process);
  return found ? found->pidfd() : -1;
}

eh_status process_wait(void* context, eh_process process, int32_t* wait_status) {
  const auto found = services(context).find(process);
  if (!found) return EH_FAILED;
  int status = 0;
  switch (found->try_wait(status)) {
    case ProcessState::running: return EH_PENDING;
    case ProcessState::lost: return EH_FAILED;
    case ProcessState::ended: break;
  }
  if (wait_status != nullptr) *wait_status = status;
  return EH_OK;
}

int32_t process_signal(void* context, eh_process process, int32_t number) {
  const auto found = services(context).find(process);
  if (!found) return -ESRCH;
  const auto sent = found->signal(number);
  return sent ? 0 : -sent.error().error_number;
}

void process_release(void* context, eh_process process) { services(context).release(process); }

}  // namespace

HostServices::HostServices(EventLoop& loop, ProcessLauncher& launcher) : loop_(loop), launcher_(launcher) {
  table_.struct_size = sizeof table_;
  table_.abi_major = EH_ABI_MAJOR;
  table_.abi_minor = EH_ABI_MINOR;
  table_.context = this;
  table_.log = write_log;
  table_.secret = no_secret;
  table_.now_ns = now_ns;
  table_.spawn = spawn_process;
  table_.process_pidfd = process_pidfd;
  table_.process_wait = process_wait;
  table_.process_signal = process_signal;
  table_.process_release = process_release;
}

Result<eh_process> HostServices::spawn(ProcessSpec spec) {
  using Launched = Result<std::unique_ptr<Process>>;
  Launched launched = unexpected(make_failure(FailureKind::unavailable, Phase::spawn, "the keeper is ending", "fork"));
  if (loop_.on_loop_thread()) {
    launched = launcher_.launch(spec);
  } else {
    auto promise = std::make_shared<std::promise<Launched>>();
    auto future = promise->get_future();
    const bool posted = loop_.post([this, promise, &spec] {
      try {
        promise->set_value(launcher_.launch(spec));
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    });
    promise.reset();  // the loop's is the only one: dropped there, it wakes us with broken_promise
    try {
      if (posted) launched = future.get();
    } catch (const std::exception& error) {
      launched = unexpected(make_failure(FailureKind::spawn_failed, Phase::spawn,
                                         fmt::format("no process could be started: {}", error.what()), "fork"));
    }
  }
  if (!launched) return unexpected(launched.error());
  const std::lock_guard lock(mutex_);
  const eh_process number = next_++;
  processes_.emplace(number, std::move(*launched));
  return number;
}

std::shared_ptr<Process> HostServices::find(eh_process process) {
  const std::lock_guard lock(mutex_);
  const auto found = processes_.find(process);
  return found == processes_.end() ? nullptr : found->second;
}

void HostServices::release(eh_process process) {
  std::shared_ptr<Process> last;  // destroyed, which may wait, without the lock
  const std::lock_guard lock(mutex_);
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  last = std::move(found->second);
  processes_.erase(found);
}

}  // namespace exechost::keeper
