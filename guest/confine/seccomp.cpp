#include "guest/confine/seccomp.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "seccomp_filters.hpp"  // generated

namespace exechost::guest {

Outcome install_seccomp() {
#if defined(__x86_64__)
  constexpr auto& kFilter = seccomp::kBaseX86_64;
#elif defined(__aarch64__)
  constexpr auto& kFilter = seccomp::kBaseAarch64;
#else
#error "no system call filter for this architecture: add it to guest/seccomp/compile.cpp"
#endif
  sock_fprog program{};
  program.len = sizeof kFilter / sizeof kFilter[0];
  program.filter = const_cast<sock_filter*>(kFilter);  // the kernel only copies it
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program) != 0) return failure(Step::seccomp, errno);
  return success();
}

}  // namespace exechost::guest
