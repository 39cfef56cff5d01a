// Two hundred instants each.
#include <gtest/gtest.h>

#include "tests/soak/random_kill.hpp"

namespace exechost::test {
namespace {

constexpr int kInstants = 200;

TEST(KilledAtRandom, Host) { kill_at_random_instants(Victim::host, kInstants); }
TEST(KilledAtRandom, ChildKeeper) { kill_at_random_instants(Victim::child_keeper, kInstants); }
TEST(KilledAtRandom, DetachedKeeper) { kill_at_random_instants(Victim::detached_keeper, kInstants); }
TEST(KilledAtRandom, ServingGuest) { kill_at_random_instants(Victim::guest, kInstants); }
TEST(KilledAtRandom, Shell) { kill_at_random_instants(Victim::shell, kInstants); }

}  // namespace
}  // namespace exechost::test
