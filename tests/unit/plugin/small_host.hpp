// A host for plugins in some hundred lines: real processes, a log and secrets in memory. What the
// keeper does properly; enough to call plugins through their tables.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "exechost/plugin.h"

namespace exechost::test {

class SmallHost {
 public:
  SmallHost() {
    table_.struct_size = sizeof table_;
    table_.abi_major = EH_ABI_MAJOR;
    table_.abi_minor = EH_ABI_MINOR;
    table_.context = this;
    table_.log = [](void* context, std::int32_t level, eh_str text) {
      self(context).lines.emplace_back(level, std::string(text.ptr, text.len));
    };
    table_.secret = [](void* context, eh_str name, char* buffer, std::uint64_t capacity) {
      return self(context).secret(std::string(name.ptr, name.len), buffer, capacity);
    };
    table_.now_ns = [](void*) {
      timespec now{};
      ::clock_gettime(CLOCK_MONOTONIC, &now);
      return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    };
    table_.spawn = [](void* context, const eh_process_spec* spec, const eh_call* call, eh_process* out) {
      return self(context).spawn(*spec, *call, *out);
    };
    table_.process_pidfd = [](void* context, eh_process process) { return self(context).at(process).pidfd.get(); };
    table_.process_wait = [](void* context, eh_process process, std::int32_t* status) -> eh_status {
      Child& child = self(context).at(process);
      if (!child.reaped && ::waitpid(child.pid, &child.status, WNOHANG) != child.pid) return EH_PENDING;
      child.reaped = true;
      *status = child.status;
      return EH_OK;
    };
    table_.process_signal = [](void* context, eh_process process, std::int32_t number) -> std::int32_t {
      const Child& child = self(context).at(process);
      if (child.reaped) return -ESRCH;
      return ::kill(child.pid, number) == 0 ? 0 : -errno;
    };
    table_.process_release = [](void* context, eh_process process) { self(context).release(process); };
  }
  ~SmallHost() {
    while (!children_.empty()) release(children_.begin()->first);
  }
  SmallHost(const SmallHost&) = delete;
  SmallHost& operator=(const SmallHost&) = delete;

  const eh_host* table() const { return &table_; }
  std::size_t running() const { return children_.size(); }

  std::vector<std::pair<int, std::string>> lines;
  std::map<std::string, std::string> secrets;
  int secret_calls = 0;

 private:
  struct Child {
    pid_t pid = -1;
    UniqueFd pidfd;
    int status = 0;
    bool reaped = false;
  };

  static SmallHost& self(void* context) { return *static_cast<SmallHost*>(context); }
  Child& at(eh_process process) { return children_.at(process); }

  std::int64_t secret(const std::string& name, char* buffer, std::uint64_t capacity) {
    ++secret_calls;
    const auto found = secrets.find(name);
    if (found == secrets.end()) return -1;
    if (found->second.size() <= capacity) std::memcpy(buffer, found->second.data(), found->second.size());
    return static_cast<std::int64_t>(found->second.size());
  }

  static std::vector<std::string> strings(const eh_str* texts, std::uint32_t count) {
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < count; ++i) out.emplace_back(texts[i].ptr, texts[i].len);
    return out;
  }
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  }

  eh_status spawn(const eh_process_spec& spec, const eh_call& call, eh_process& out) {
    std::vector<std::string> arguments = strings(spec.arguments, spec.argument_count);
    std::vector<std::string> environment = strings(spec.environment, spec.environment_count);
    const std::string folder(spec.working_directory.ptr, spec.working_directory.len);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    std::vector<UniqueFd> sources;
    for (std::uint32_t i = 0; i < spec.descriptor_count; ++i) {
      const int fd = spec.descriptors[i];
      sources.emplace_back(fd < 0 ? ::open("/dev/null", O_RDWR | O_CLOEXEC) : ::fcntl(fd, F_DUPFD_CLOEXEC, 32));
      ::posix_spawn_file_actions_adddup2(&actions, sources.back().get(), static_cast<int>(i));
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions, static_cast<int>(spec.descriptor_count));
    ::posix_spawn_file_actions_addchdir_np(&actions, folder.empty() ? "/" : folder.c_str());
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    Child child;
    const int error = ::posix_spawn(&child.pid, arguments.at(0).c_str(), &actions, &attributes,
                                    pointers(arguments).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      const std::string message = "the process could not be started";
      const std::string step = "exec";
      eh_failure failure{};
      failure.struct_size = sizeof failure;
      failure.kind = EH_SPAWN_FAILED;
      failure.phase = EH_PHASE_SPAWN;
      failure.error_number = error;
      failure.message = eh_str{message.data(), message.size()};
      failure.step = eh_str{step.data(), step.size()};
      call.fail(call.context, &failure);
      return EH_FAILED;
    }
    child.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
    out = ++last_;
    children_.emplace(out, std::move(child));
    return EH_OK;
  }

  void release(eh_process process) {
    const Child& child = at(process);
    if (!child.reaped) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
    children_.erase(process);
  }

  eh_host table_{};
  std::map<eh_process, Child> children_;
  eh_process last_ = 0;
};

}  // namespace exechost::test
