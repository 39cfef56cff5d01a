// Whom a test runs the product as: root, or an ordinary user.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace exechost::test {

struct Account {
  std::string label;  // "root" or "user": part of test names
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;  // from the user database; may not exist
};

// nullopt: this process can't become it (an ordinary user can't become root). As root, "user" is
// the account `exechost-test` where it exists, else uid and gid 65534.
std::optional<Account> find_account(std::string_view label);

}  // namespace exechost::test
