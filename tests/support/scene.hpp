// The place of one end-to-end test: a workspace, a folder outside it and a home, all of the account
// that runs the product, and the product itself.
//
//   BASE/ws      the workspace          BASE/home   $HOME
//   BASE/out     a folder outside       BASE/xdg    ExecHost's state, cache, runtime
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/account.hpp"
#include "tests/support/program.hpp"
#include "tests/support/temp_folder.hpp"

namespace exechost::test {

// The product under test: EXECHOST_TEST_PREFIX, else the build tree.
std::string test_prefix();
// The static helper program that tries forbidden things (tests/support/probe).
std::string probe_program();

// Where BASE is: private in the sandbox (var_tmp), hidden there (home), or shown read-only (srv).
enum class Place { var_tmp, home, srv };
std::optional<Place> place_from(std::string_view name);
std::string_view to_string(Place place);

class Scene {
 public:
  // nullptr with a reason when this process can't set it.
  static std::unique_ptr<Scene> make(std::string_view account, Place place, std::string& why_not);
  // As above, for a folder given.
  Scene(Account account, const std::string& parent);

  const Account& account() const { return account_; }
  const std::string& base() const { return base_.path(); }
  std::string workspace() const { return base() + "/ws"; }
  std::string outside() const { return base() + "/out"; }
  std::string home() const { return base() + "/home"; }
  std::string runtime_folder() const { return base() + "/xdg/run"; }
  std::string state_folder() const { return base() + "/xdg/state"; }

  // Below BASE, owned by the account; parents are made.
  void folder(const std::string& relative) const;
  void file(const std::string& relative, const std::string& content, mode_t mode = 0644) const;
  void link(const std::string& relative, const std::string& target) const;
  // Copies the probe program into the workspace, where every sandbox sees it; returns its path.
  std::string install_probe() const;
  void give_to_account(const std::string& path) const;  // absolute; chown, not through links

  // `exechost ARGUMENTS...` in the workspace, with a small environment of its own.
  ProgramOptions cli(std::vector<std::string> arguments) const;
  ProgramEnd run(std::vector<std::string> arguments) const { return run_program(cli(std::move(arguments))); }

 private:
  Account account_;
  TempFolder base_;
};

}  // namespace exechost::test
