#include "core/plan/confinement.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>

namespace exechost::plan {
namespace {

// Devices of the environment's own /dev that commands write to, and its /proc.
constexpr std::array<const char*, 9> kWritable{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                                               "/dev/tty",  "/dev/ptmx", "/dev/pts",  "/proc"};

std::vector<ViewCheck> make_view_checks(const View& view, const Facts& facts, bool rendered) {
  std::vector<ViewCheck> checks;
  for (const ViewEntry& entry : view.entries) {
    // Nobody can exchange it, and whether anything asked about it must not tell two plans apart.
    if (entry.path == "/") continue;
    const bool shown = entry.access == Access::ro || entry.access == Access::rw;
    // What nobody hides or puts elsewhere is where it always was: no sign of an exchange.
    if (!rendered && (!shown || !entry.source.empty())) continue;
    const PathFact& fact = facts.path(entry.source.empty() ? entry.path : entry.source);
    if (fact.kind == FileKind::missing || fact.inode == 0) continue;
    checks.push_back({entry.path, fact.device, fact.inode, shown});
  }
  return checks;
}

}  // namespace

Confinement no_confinement() {
  Confinement confinement;
  confinement.none = true;
  confinement.seccomp_profile.clear();
  confinement.landlock = false;
  return confinement;
}

Confinement make_confinement(const View& view, const Resources& resources, const Facts& facts, bool rendered) {
  Confinement confinement;
  confinement.view_checks = make_view_checks(view, facts, rendered);
  std::vector<LandlockRule>& rules = confinement.landlock_rules;
  for (const ViewEntry& entry : view.entries) {
    // A private folder that nobody puts there is this machine's own.
    if (!rendered && entry.access == Access::private_) continue;
    const bool writable = entry.access == Access::rw || entry.access == Access::private_;
    if (writable || entry.access == Access::ro) rules.push_back({entry.path, writable});
  }
  if (std::none_of(rules.begin(), rules.end(), [](const LandlockRule& rule) { return rule.path == "/"; })) {
    for (const char* path : {"/dev", "/proc"}) rules.push_back({path, false});
  }
  for (const char* path : kWritable) rules.push_back({path, true});

  confinement.rlimits.push_back({RLIMIT_CORE, 0});
  if (resources.pids && facts.uid != 0) confinement.rlimits.push_back({RLIMIT_NPROC, *resources.pids});
  return confinement;
}

}  // namespace exechost::plan
