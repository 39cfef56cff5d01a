#include "tests/support/account.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace exechost::test {
namespace {

std::optional<Account> from_entry(std::string_view label, const passwd* entry) {
  if (entry == nullptr) return std::nullopt;
  return Account{std::string(label), entry->pw_uid, entry->pw_gid, entry->pw_name, entry->pw_dir};
}

std::optional<Account> by_name(std::string_view label, const char* name) {
  passwd storage{};
  std::array<char, 16384> buffer{};
  passwd* entry = nullptr;
  getpwnam_r(name, &storage, buffer.data(), buffer.size(), &entry);
  return from_entry(label, entry);
}

std::optional<Account> by_uid(std::string_view label, uid_t uid) {
  passwd storage{};
  std::array<char, 16384> buffer{};
  passwd* entry = nullptr;
  getpwuid_r(uid, &storage, buffer.data(), buffer.size(), &entry);
  return from_entry(label, entry);
}

}  // namespace

std::optional<Account> find_account(std::string_view label) {
  constexpr uid_t kNobody = 65534;
  const uid_t own = geteuid();
  if (label == "root") {
    if (own != 0) return std::nullopt;
    return by_uid(label, 0).value_or(Account{"root", 0, 0, "root", "/root"});
  }
  if (own != 0) return by_uid(label, own).value_or(Account{"user", own, getegid(), "", "/nonexistent"});
  if (auto account = by_name(label, "exechost-test")) return account;
  return by_uid(label, kNobody).value_or(Account{"user", kNobody, kNobody, "nobody", "/nonexistent"});
}

}  // namespace exechost::test
