#include "guest/confine/privileges.hpp"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace exechost::guest {

namespace {

constexpr unsigned long kSecurebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                      SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

// One bit per capability; the kernel says where they end.
constexpr unsigned long kHighestCapability = 63;

bool is_empty(const __user_cap_data_struct (&sets)[2]) {
  return (sets[0].effective | sets[0].permitted | sets[0].inheritable | sets[1].effective | sets[1].permitted |
          sets[1].inheritable) == 0;
}

}  // namespace

Outcome set_no_new_privs() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return failure(Step::no_new_privs, errno);
  return success();
}

Outcome drop_capabilities() {
  for (unsigned long capability = 0; capability <= kHighestCapability; ++capability) {
    const int held = ::prctl(PR_CAPBSET_READ, capability, 0UL, 0UL, 0UL);
    if (held < 0) break;
    if (held == 0) continue;
    if (::prctl(PR_CAPBSET_DROP, capability, 0UL, 0UL, 0UL) != 0 && errno != EPERM) {
      return failure(Step::capabilities, errno);
    }
  }
  // Needs CAP_SETPCAP; without it no set can be refilled anyway.
  if (::prctl(PR_SET_SECUREBITS, kSecurebits, 0UL, 0UL, 0UL) != 0 && errno != EPERM) {
    return failure(Step::capabilities, errno);
  }
  // EINVAL: a kernel before 4.3, which has no ambient set.
  if (::prctl(PR_CAP_AMBIENT, static_cast<unsigned long>(PR_CAP_AMBIENT_CLEAR_ALL), 0UL, 0UL, 0UL) != 0 &&
      errno != EINVAL) {
    return failure(Step::capabilities, errno);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capset, &header, sets) != 0) return failure(Step::capabilities, errno);
  header = {_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capget, &header, sets) != 0) return failure(Step::capabilities, errno);
  return is_empty(sets) ? success() : failure(Step::capabilities, EPERM);
}

}  // namespace exechost::guest
