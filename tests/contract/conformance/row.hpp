// One behaviour that must hold, as data (tests/data/conformance/*.json):
//
//   id, source, note        where the row comes from; `contradicts` says why ours differs from the source
//   users, places           whom and where (support/scene.hpp); default: both users, var_tmp
//   needs                   host programs without which the row can't be tried
//   setup                   [{folder|file|link|probe|host_file|tcp_listener|unix_listener|abstract_listener}]
//   options, env, stdin     of `exechost run`
//   argv | shell            the command
//   expect                  exactly one outcome; `changes` lists every path below BASE that may differ after
//
// In texts ${WS} ${OUT} ${HOME} ${BASE} ${PROBE} ${UID} ${GID} ${UNIQUE} ${PORT} are replaced.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace exechost::test {

struct Row {
  std::string id;
  std::vector<std::string> users{"root", "user"};
  std::vector<std::string> places{"var_tmp"};
  std::vector<std::string> needs;
  nlohmann::json setup = nlohmann::json::array();
  std::vector<std::string> options;
  std::map<std::string, std::string> env;
  std::string input;
  std::vector<std::string> command;  // what follows `exechost run OPTIONS`
  nlohmann::json expect;
};

// A row for one account and one place: what one test runs.
struct Case {
  Row row;
  std::string user;
  std::string place;

  std::string name() const;  // "F02_root_var_tmp"
};
std::ostream& operator<<(std::ostream& out, const Case& one);

// All rows of all files, unfolded. Throws std::runtime_error naming file and row for anything unknown,
// missing or repeated: a row that is misread must not pass.
std::vector<Case> load_cases(const std::string& folder);

}  // namespace exechost::test
