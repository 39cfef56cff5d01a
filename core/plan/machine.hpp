// The system calls behind gather(): one path, one folder, one number at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/facts.hpp"

namespace exechost::plan {

class Inspector;

// Follows links by hand, so that each one is known. At most 40 links; more, a loop or a folder
// that can't be searched reads as missing. `way` gets every place on it that was looked at, unless there
// was no link.
PathFact inspect_path(const std::string& absolute, std::vector<std::string>* way = nullptr);

// Names in a folder, sorted; at most `limit`. Nothing when it can't be listed.
std::optional<std::vector<std::string>> names_in(const std::string& folder, std::size_t limit);

// Landlock's ABI version; 0 when the kernel has none or it is off.
int landlock_abi();
// The home of a user as the user database has it.
std::optional<std::string> database_home(uid_t uid);
std::string host_name();
// Homes of the people in a user database file (uid from 1000, a shell to log in with), as it has
// them; at most 1024. Accounts that are kept elsewhere (LDAP) are not in it.
std::vector<std::string> account_homes(const std::string& database);

struct ToolchainSearch {
  const std::map<std::string, std::string>& environment;
  const std::vector<std::string>& homes;        // resolved
  const std::vector<std::string>& credentials;  // resolved
  const std::vector<std::string>& writable;     // folders the command may write, as given and resolved
};
// Existing folders in a home that PATH and the version managers' variables point at, and what
// programs linked from there need. Never a home itself, never a credential or below, nothing for
// what lies in a writable folder. Commands may have laid links in earlier runs, so one that leads
// out of the version managers' own folders shows no more than an executable file, or a folder that
// is recognised as what PATH or the variable says.
std::vector<std::string> find_toolchains(Inspector& inspector, const ToolchainSearch& search);
// Existing files and folders known to hold credentials: in the homes, and for root in the system.
std::vector<std::string> find_credentials(Inspector& inspector, const std::map<std::string, std::string>& environment,
                                          const std::vector<std::string>& homes, uid_t uid);

}  // namespace exechost::plan
