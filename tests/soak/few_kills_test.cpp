// The same with few instants, so that every change sees it.
#include <gtest/gtest.h>

#include "tests/soak/random_kill.hpp"

namespace exechost::test {
namespace {

constexpr int kInstants = 10;

TEST(KilledNowAndThen, Host) { kill_at_random_instants(Victim::host, kInstants); }
TEST(KilledNowAndThen, ChildKeeper) { kill_at_random_instants(Victim::child_keeper, kInstants); }
TEST(KilledNowAndThen, DetachedKeeper) { kill_at_random_instants(Victim::detached_keeper, kInstants); }
TEST(KilledNowAndThen, ServingGuest) { kill_at_random_instants(Victim::guest, kInstants); }
TEST(KilledNowAndThen, Shell) { kill_at_random_instants(Victim::shell, kInstants); }

}  // namespace
}  // namespace exechost::test
