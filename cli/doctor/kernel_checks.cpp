#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "cli/doctor/check.hpp"

namespace exechost::cli::doctor {
namespace {

std::optional<long> read_number(const char* path) {
  std::ifstream file(path);
  long number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Three switches of different kernels can forbid them; whether they work is the self-test's word.
Check user_namespaces() {
  const std::string name = "user namespaces";
  if (::access("/proc/self/ns/user", F_OK) != 0) {
    return fail(name, "the kernel has none", "use a kernel with CONFIG_USER_NS");
  }
  if (read_number("/proc/sys/user/max_user_namespaces").value_or(1) == 0) {
    return fail(name, "user.max_user_namespaces is 0", "as root: sysctl user.max_user_namespaces=15000");
  }
  if (::geteuid() == 0) return ok(name, "available (root needs no permission for them)");
  if (read_number("/proc/sys/kernel/unprivileged_userns_clone").value_or(1) == 0) {
    return fail(name, "kernel.unprivileged_userns_clone is 0: root only",
                "as root: sysctl kernel.unprivileged_userns_clone=1");
  }
  if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").value_or(0) != 0) {
    return warn(name, "AppArmor restricts them for ordinary users",
                "if the self-test below fails, give bwrap an AppArmor profile that allows userns");
  }
  return ok(name, "available to ordinary users");
}

Check seccomp() {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return ok("seccomp", "filters available");
  return fail("seccomp", fmt::format("the kernel refuses filters: {}", std::strerror(errno)),
              "use a kernel with CONFIG_SECCOMP_FILTER");
}

Check landlock() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi > 0) return ok("Landlock", fmt::format("ABI {}", abi));
  return warn(
      "Landlock", fmt::format("not available: {}", std::strerror(errno)),
      "commands run with one layer less; enable it by the kernel parameter lsm=landlock,... (Linux 5.13 and newer)");
}

}  // namespace

Check ok(std::string name, std::string detail) { return {std::move(name), Verdict::ok, std::move(detail), {}}; }
Check warn(std::string name, std::string detail, std::string advice) {
  return {std::move(name), Verdict::warn, std::move(detail), std::move(advice)};
}
Check fail(std::string name, std::string detail, std::string advice) {
  return {std::move(name), Verdict::fail, std::move(detail), std::move(advice)};
}

std::vector<Check> kernel_checks() { return {user_namespaces(), seccomp(), landlock()}; }

}  // namespace exechost::cli::doctor
