// One after the other, in the order of arrival.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

namespace exechost::keeper::shell {

// On the loop's thread.
class Turns {
 public:
  using Id = std::uint64_t;  // 0: none
  bool taken() const { return !line_.empty(); }
  // `go` is called when it is this one's turn, perhaps before enter returns, but after `id` is set.
  void enter(Id& id, std::function<void()> go);
  // It had its turn, or doesn't want it any more.
  void leave(Id id);

 private:
  struct Waiting {
    Id id = 0;
    std::function<void()> go;  // null: it went
  };
  void advance();

  std::deque<Waiting> line_;  // the first one has its turn
  Id last_ = 0;
  bool advancing_ = false;
};

}  // namespace exechost::keeper::shell
