// Commands in the background, as a test waits for them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "exechost/session.hpp"

namespace exechost::test {

// Waits for its end.
inline DetachedCommand end_of(const Session& session, const std::string& id) {
  DetachedCommand state;
  for (int i = 0; i < 1000 && !state.ended; ++i) {
    const auto next = session.await(id, state.out.end, state.err.end, std::chrono::seconds(20));
    EXPECT_TRUE(next) << next.error().message;
    if (!next) break;
    state = *next;
  }
  EXPECT_TRUE(state.ended);
  return state;
}

}  // namespace exechost::test
