#include "core/plan/environment.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>

#include "core/plan/report.hpp"
#include "core/plan/settings_access.hpp"

namespace exechost::plan {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 16> kCore{"PATH", "SHELL",     "TMPDIR",   "TEMP",    "TMP",  "HOME",
                                                 "LANG", "LC_ALL",    "LC_CTYPE", "LOGNAME", "USER", "TERM",
                                                 "TZ",   "COLORTERM", "NO_COLOR", "LC_*"};
// Withheld whatever the settings say, unless dangerously_keep_secrets.
// AUTH is matched by its ends: GIT_AUTHOR_NAME is no secret.
constexpr std::array<std::string_view, 10> kSecrets{
    "*KEY*",        "*SECRET*", "*TOKEN*", "*PASSWORD*",       "*PASSWD*",
    "*CREDENTIAL*", "*AUTH",    "*AUTH_*", "*AUTHENTICATION*", "*AUTHORIZATION*"};
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kScratch = "/tmp";

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

template <class Patterns>
bool matches_any(std::string_view name, const Patterns& patterns) {
  return std::any_of(std::begin(patterns), std::end(patterns),
                     [&](std::string_view pattern) { return matches_pattern(name, pattern); });
}

bool is_core(std::string_view name) {
  return std::any_of(kCore.begin(), kCore.end(), [&](std::string_view core) {
    return core.ends_with('*') ? name.starts_with(core.substr(0, core.size() - 1)) : name == core;
  });
}

Variables inherited(const settings::Settings& settings, const Facts& facts) {
  const std::string mode = text_setting(settings, "environment.inherit", "core");
  const std::vector<std::string> include = list_setting(settings, "environment.include");
  std::vector<std::string> exclude = list_setting(settings, "environment.exclude");
  const auto is_secret_pattern = [](const std::string& pattern) {
    return std::find(kSecrets.begin(), kSecrets.end(), pattern) != kSecrets.end();
  };
  exclude.erase(std::remove_if(exclude.begin(), exclude.end(), is_secret_pattern), exclude.end());
  if (!flag_setting(settings, "environment.dangerously_keep_secrets", false)) {
    exclude.insert(exclude.end(), kSecrets.begin(), kSecrets.end());
  }
  Variables variables;
  for (const auto& [name, value] : facts.environment) {
    const bool wanted = mode == "all" || (mode == "core" && is_core(name)) || matches_any(name, include);
    if (wanted && !matches_any(name, exclude)) variables.emplace(name, value);
  }
  return variables;
}

// Relative and empty entries name the folder the command happens to be in, which it can write.
std::string absolute_entries(const std::string& path) {
  std::string kept;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin && path[begin] == '/') {
      if (!kept.empty()) kept += ':';
      kept.append(path, begin, end - begin);
    }
    begin = end + 1;
  }
  return kept;
}

void fit_inside(Variables& variables, const std::string& home) {
  variables["HOME"] = home;
  variables["TMPDIR"] = kScratch;
  for (const char* name : {"TEMP", "TMP"}) {
    if (const auto found = variables.find(name); found != variables.end()) found->second = kScratch;
  }
  std::string& path = variables["PATH"];
  path = absolute_entries(path);
  if (path.empty()) path = kDefaultPath;
}

Result<void> check_variable(std::string_view where, const std::string& name, const std::string& value) {
  const auto refuse = [&](std::string_view rule) {
    return unexpected(
        plan_failure(FailureKind::invalid_request, fmt::format("{}: variable {} {}", where, quote(name), rule)));
  };
  if (name.empty()) return refuse("must have a name");
  if (name.find('=') != std::string::npos) return refuse("must not have \"=\" in its name");
  if (name.find('\0') != std::string::npos) return refuse("must not have a NUL byte in its name");
  if (value.find('\0') != std::string::npos) return refuse("must not have a NUL byte in its value");
  return {};
}

}  // namespace

bool matches_pattern(std::string_view name, std::string_view pattern) {
  // Greedy with one step back to the last *: linear in practice, never exponential.
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      resume = at;
    } else if (in_pattern < pattern.size() &&
               (pattern[in_pattern] == '?' || lower(pattern[in_pattern]) == lower(name[at]))) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

bool may_be_shown(std::string_view name) { return name == "PWD" || (is_core(name) && !matches_any(name, kSecrets)); }

Result<BuiltEnvironment> build_environment(const settings::Settings& settings, const Request& request,
                                           const Facts& facts, const HomeInside& home, const std::string& cwd) {
  Variables variables = inherited(settings, facts);
  if (text_setting(settings, "environment.inherit", "core") != "none") {
    if (home) fit_inside(variables, *home);
    variables["PWD"] = cwd;
  }

  if (const nlohmann::json& set = settings.at("environment.set"); set.is_object()) {
    for (const auto& [name, value] : set.items()) {
      if (!value.is_string()) continue;
      const auto text = value.get<std::string>();
      if (auto valid = check_variable("environment.set", name, text); !valid) return unexpected(valid.error());
      variables[name] = text;
    }
  }
  if (const std::vector<std::string> only = list_setting(settings, "environment.include_only"); !only.empty()) {
    std::erase_if(variables, [&](const auto& variable) { return !matches_any(variable.first, only); });
  }
  for (const auto& [name, value] : request.env) {
    if (auto valid = check_variable("env", name, value); !valid) return unexpected(valid.error());
    variables[name] = value;
  }

  BuiltEnvironment built;
  for (const auto& [name, value] : facts.environment) {
    if (!variables.contains(name)) built.withheld.push_back(name);
  }
  built.variables = std::move(variables);
  return built;
}

}  // namespace exechost::plan
