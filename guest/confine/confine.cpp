#include "guest/confine/confine.hpp"

#include "guest/confine/landlock.hpp"
#include "guest/confine/mounts.hpp"
#include "guest/confine/privileges.hpp"
#include "guest/confine/seccomp.hpp"
#include "guest/confine/view.hpp"

namespace exechost::guest {

Outcome confine(const Spec& spec, Message& confined) {
  if (const Outcome outcome = cut_off_mounts(); !outcome.ok()) return outcome;
  if (const Outcome outcome = check_view(spec); !outcome.ok()) return outcome;
  if (const Outcome outcome = set_no_new_privs(); !outcome.ok()) return outcome;
  if (const Outcome outcome = drop_capabilities(); !outcome.ok()) return outcome;
  if (const Outcome outcome = apply_landlock(spec, confined.landlock_abi); !outcome.ok()) return outcome;
  if (spec.seccomp) {
    if (const Outcome outcome = install_seccomp(); !outcome.ok()) return outcome;
    confined.seccomp = 1;
  }
  return success();
}

}  // namespace exechost::guest
