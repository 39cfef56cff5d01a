// Which named sessions a keeper has open or has lost, in its folder: so that a keeper, also one that follows one which
// was killed, can say that a session was there before.
#pragma once

#include <set>
#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost::keeper {

// Not essential: what can't be written or read is as if it had not been there. On the loop's thread.
class SessionMarks {
 public:
  // `folder`: the keepers'; `keeper`: the name of the one whose place this process has. Marks that are there already
  // are a dead one's.
  SessionMarks(int folder, const std::string& keeper);

  void add(const std::string& owner, const std::string& name);
  void remove(const std::string& owner, const std::string& name);
  // It is not open any more, by nobody's wish. Stays marked for a keeper that comes later.
  void lose(const std::string& owner, const std::string& name);
  // Whether it was lost, or open when the last keeper died; true once.
  bool take_lost(const std::string& owner, const std::string& name);

 private:
  UniqueFd folder_;  // invalid: there are no marks
  std::set<std::string> lost_;
};

}  // namespace exechost::keeper
