#include "guest/confine/landlock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "guest/confine/place.hpp"

namespace exechost::guest {

namespace {

// Our own copy of linux/landlock.h (UAPI, stable): the distribution's headers are older than
// the kernels this runs on.
struct RulesetAttribute {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;  // from ABI 4
  std::uint64_t scoped;              // from ABI 6
};
struct __attribute__((packed)) PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
constexpr unsigned kGetVersion = 1U << 0;
constexpr int kRulePathBeneath = 1;

constexpr std::uint64_t kExecute = 1ULL << 0;
constexpr std::uint64_t kWriteFile = 1ULL << 1;
constexpr std::uint64_t kReadFile = 1ULL << 2;
constexpr std::uint64_t kReadDirectory = 1ULL << 3;
constexpr std::uint64_t kAbi1 = (1ULL << 13) - 1;   // execute ... make_sym
constexpr std::uint64_t kRefer = 1ULL << 13;        // ABI 2
constexpr std::uint64_t kTruncate = 1ULL << 14;     // ABI 3
constexpr std::uint64_t kIoctlDevice = 1ULL << 15;  // ABI 5
constexpr std::uint64_t kForFiles = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
constexpr std::uint64_t kForReading = kExecute | kReadFile | kReadDirectory;

constexpr std::uint64_t kScopeAbstractUnixSocket = 1ULL << 0;
constexpr std::uint64_t kScopeSignal = 1ULL << 1;

std::uint64_t rights_of(long abi) {
  std::uint64_t rights = kAbi1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDevice;
  return rights;
}

// An older kernel refuses (E2BIG) nothing but non-zero bytes it doesn't know, yet the size
// has to be at least the one it knows.
std::size_t attribute_size(long abi) {
  if (abi >= 6) return sizeof(RulesetAttribute);
  return abi >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
}

// 0 or errno.
int add_rule(int ruleset, const LandlockRule& rule, std::uint64_t handled) {
  const int fd = open_place(rule.path);
  if (fd < 0) {
    // Out of descriptors or memory is no property of the path.
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : 0;
  }
  struct stat status {};
  PathBeneath beneath{};
  beneath.parent_fd = fd;
  beneath.allowed_access = (rule.write ? ~0ULL : kForReading) & handled;
  int error = 0;
  if (::fstat(fd, &status) != 0) {
    error = errno;
  } else {
    if (!S_ISDIR(status.st_mode)) beneath.allowed_access &= kForFiles;
    // EBADFD: a file of a kernel-internal filesystem (a pipe behind /dev/stdin), which Landlock leaves alone.
    if (::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &beneath, 0U) != 0 && errno != EBADFD) {
      error = errno;
    }
  }
  ::close(fd);
  return error;
}

int restrict_to(const Spec& spec, long abi) {
  RulesetAttribute attribute{};
  attribute.handled_access_fs = rights_of(abi);
  if (abi >= 6) attribute.scoped = kScopeAbstractUnixSocket | kScopeSignal;
  // The ruleset's descriptor is close-on-exec by itself.
  const auto ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attribute, attribute_size(abi), 0U));
  if (ruleset < 0) return errno;
  int error = 0;
  for (std::size_t i = 0; i < spec.landlock_rule_count && error == 0; ++i) {
    error = add_rule(ruleset, spec.landlock_rules[i], attribute.handled_access_fs);
  }
  if (error == 0 && ::syscall(SYS_landlock_restrict_self, ruleset, 0U) != 0) error = errno;
  ::close(ruleset);
  return error;
}

}  // namespace

Outcome apply_landlock(const Spec& spec, std::uint32_t& abi) {
  abi = 0;
  if (!spec.landlock) return success();
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kGetVersion);
  if (version < 0) {
    // Not built in, switched off at boot, or (a container's own seccomp profile) refused.
    if (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM) return success();
    return failure(Step::landlock, errno);
  }
  if (const int error = restrict_to(spec, version); error != 0) return failure(Step::landlock, error);
  abi = static_cast<std::uint32_t>(version);
  return success();
}

}  // namespace exechost::guest
