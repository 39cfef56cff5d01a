#include "cli/request_options.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include "cli/repeated_option.hpp"
#include "core/base/utf8.hpp"

namespace exechost::cli {
namespace {

using nlohmann::json;
using enum OptionKind;

constexpr std::array kSettingOptions{
    SettingOption{"--backend", "backend", text, "ID", "@backends",
                  "Backend of the sandbox tier (see: exechost backends)"},
    SettingOption{"--tier", "tier", text, "TIER", "sandbox gateway node", "sandbox (default), gateway or node"},
    SettingOption{"--profile", "profile", text, "NAME", "@profiles",
                  "Named set of settings: run (default), install, read_only, your own"},
    SettingOption{"--session", "session.name", text, "NAME", "", "Share one environment with other runs of this name"},
    SettingOption{"--image", "image", text, "IMAGE", "", "Image the environment is made from"},
    SettingOption{"--cpu", "resources.cpu", text, "CORES", "", "Processor limit, such as 0.5 or 2"},
    SettingOption{"--memory", "resources.memory", text, "SIZE", "", "Memory limit, such as 512m or 2GiB"},
    SettingOption{"--disk", "resources.disk", text, "SIZE", "", "Disk limit, such as 10GiB"},
    SettingOption{"--timeout", "resources.timeout", text, "TIME", "", "Such as 30s or 5m; over start and run together"},
    SettingOption{"--output-cap", "resources.output_cap", text, "SIZE", "",
                  "How much of each stream --json keeps (head and tail)"},
    SettingOption{"--workspace", "workspace.path", path, "DIR", "@folders",
                  "The one writable folder (default: the current folder)"},
    SettingOption{"--allow-write", "filesystem.allow_write", path_list, "PATH", "@files",
                  "Also writable; may be repeated"},
    SettingOption{"--deny-write", "filesystem.deny_write", path_list, "PATH", "@files",
                  "Not writable, whatever else says so; may be repeated"},
    SettingOption{"--allow-read", "filesystem.allow_read", path_list, "PATH", "@files",
                  "Also readable; may be repeated"},
    SettingOption{"--deny-read", "filesystem.deny_read", path_list, "PATH", "@files", "Hidden; may be repeated"},
    SettingOption{"--network", "network.mode", text, "MODE", "none filtered full", "none (default), filtered or full"},
    SettingOption{"--allow-domain", "network.allowed_domains", list, "DOMAIN", "",
                  "Reachable by name; means --network filtered; may be repeated"},
    SettingOption{"--deny-domain", "network.denied_domains", list, "DOMAIN", "", "Never reachable; may be repeated"},
    SettingOption{"--on-unavailable", "on_unavailable", text, "WHAT", "closed ask open",
                  "When the backend can't be used: closed, ask (default) or open"},
};

// POSIX: what a shell can name. "=" or NUL in a name would make a different variable.
bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name.front())) return false;
  for (const char c : name) {
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

// A path on the command line is meant from where the person stands, not from the workspace.
std::string absolute_path(const std::string& given) {
  if (given.empty() || given.front() == '/' || given == "~" || given.starts_with("~/")) return given;
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error) return given;
  std::string whole = (here / given).lexically_normal().string();
  if (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return whole;
}

Result<std::string> only_value(const std::string& option, const std::vector<std::string>& values) {
  if (values.size() == 1) return values.front();
  return unexpected(usage_failure(fmt::format("{} is given {} times", option, values.size()), "give it once"));
}

Result<json> setting_value(const SettingOption& option, const std::vector<std::string>& given) {
  std::vector<std::string> values = given;
  for (std::string& value : values) {
    if (!is_valid_utf8(value)) {
      return unexpected(
          usage_failure(fmt::format("{}: the value \"{}\" is not valid UTF-8", option.name, to_valid_utf8(value))));
    }
    if (option.kind == path || option.kind == path_list) value = absolute_path(value);
  }
  if (option.kind == list || option.kind == path_list) return json(values);
  auto one = only_value(option.name, values);
  if (!one) return unexpected(one.error());
  // Most likely a shell variable that is not set: without a name the run would be in no session at all.
  if (one->empty() && option.setting == std::string_view("session.name")) {
    return unexpected(usage_failure(fmt::format("{}: the name is empty", option.name),
                                    "leave the option out for a run that is a session of its own"));
  }
  return json(*one);
}

}  // namespace

std::span<const SettingOption> setting_options() { return kSettingOptions; }

void RequestOptions::add_to(CLI::App& app) {
  for (const SettingOption& option : kSettingOptions) {
    add_values(app, option.name, values_[option.name], option.help)->type_name(option.value)->group("Settings");
  }
  app.add_flag("--persistent", persistent_, "Keep the environment for the session's next run")->group("Settings");
  app.add_flag("--no-persistent", not_persistent_, "Throw the environment away after this run")->group("Settings");
  const auto take_best_effort = [this](const CLI::results_t& results) {
    best_effort_given_ = true;
    for (const std::string& result : results) {
      for (const std::string& name : CLI::detail::split(result, ',')) {
        if (!name.empty()) best_effort_.push_back(name);
      }
    }
    return true;
  };
  app.add_option("--best-effort", take_best_effort,
                 "Go on when these settings can't be enforced (separated by commas; alone: any)")
      ->expected(0, 1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("[SETTING,...]")
      ->group("Settings");
  app.add_flag("--strict", strict_, "Warnings about settings become errors")->group("Settings");
  app.add_flag("--spill", spill_, "Keep a stream that is longer than the cap whole, in a file")->group("Settings");
  add_values(app, "--set", set_, "Any setting, such as resources.pids=256; may be repeated")
      ->type_name("NAME=JSON")
      ->group("Settings");
}

void RequestOptions::add_command_options(CLI::App& app) {
  add_values(app, "--cwd", cwd_, "Where the command starts (default: the workspace); makes nothing writable")
      ->type_name("DIR")
      ->group("Command");
  add_values(app, "--env", env_, "Environment variable for the command; may be repeated")
      ->type_name("K=V")
      ->group("Command");
  add_values(app, "--shell", shell_, "Run this script by /bin/sh -c instead of a command after --")
      ->type_name("SCRIPT")
      ->group("Command");
  app.add_flag("--recreate", recreate_,
               "Open the session anew when it was opened for another place; ends what runs in it")
      ->group("Command");
  app.add_flag("-t,--tty", tty_, "Give the command a terminal of its own")->group("Command");
}

Result<void> RequestOptions::add_flags(SettingOverrides& overrides) const {
  if (persistent_ && not_persistent_) {
    return unexpected(usage_failure("--persistent and --no-persistent contradict each other", "keep one of the two"));
  }
  const auto set_true = [&overrides](bool given, const char* setting, const char* option) -> Result<void> {
    return given ? overrides.set(setting, true, option) : Result<void>{};
  };
  if (auto done = set_true(persistent_, "session.persistent", "--persistent"); !done) return done;
  if (auto done = set_true(strict_, "strict", "--strict"); !done) return done;
  if (auto done = set_true(spill_, "resources.output_spill", "--spill"); !done) return done;
  if (not_persistent_) {
    if (auto done = overrides.set("session.persistent", false, "--no-persistent"); !done) return done;
  }
  if (best_effort_given_) {
    const json names = best_effort_.empty() ? json::array({"*"}) : json(best_effort_);
    if (auto done = overrides.set("best_effort", names, "--best-effort"); !done) return done;
  }
  return {};
}

Result<SettingOverrides> RequestOptions::overrides() const {
  SettingOverrides overrides;
  for (const SettingOption& option : kSettingOptions) {
    const std::vector<std::string>& given = values_.at(option.name);
    if (given.empty()) continue;
    auto value = setting_value(option, given);
    if (!value) return unexpected(value.error());
    if (auto done = overrides.set(option.setting, std::move(*value), option.name); !done)
      return unexpected(done.error());
  }
  if (auto done = add_flags(overrides); !done) return unexpected(done.error());
  for (const std::string& assignment : set_) {
    if (auto done = overrides.set_from_text(assignment, "--set"); !done) return unexpected(done.error());
  }
  // A list of reachable domains under "none" would be accepted and do nothing.
  if (!values_.at("--allow-domain").empty() && !overrides.has("network.mode")) {
    if (auto done = overrides.set("network.mode", "filtered", "--allow-domain"); !done) return unexpected(done.error());
  }
  return overrides;
}

Result<void> RequestOptions::add_environment(Request& request) const {
  for (const std::string& assignment : env_) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    if (equals == std::string::npos) {
      return unexpected(
          usage_failure(fmt::format("--env \"{}\" has no value", assignment),
                        fmt::format("write --env {0}=VALUE, or --env {0}=\"${0}\" for the value it has here", name)));
    }
    if (!is_variable_name(name)) {
      return unexpected(usage_failure(fmt::format("--env: \"{}\" is not a name for a variable", name),
                                      "a name has letters, digits and _, and does not start with a digit"));
    }
    if (!request.env.emplace(name, assignment.substr(equals + 1)).second) {
      return unexpected(usage_failure(fmt::format("--env {} is given twice", name), "keep one of the two"));
    }
  }
  return {};
}

Result<Request> RequestOptions::to_request(const CommandLine& line) const {
  Request request;
  if (!shell_.empty()) {
    if (line.has_command) {
      return unexpected(usage_failure("both --shell and a command after -- are given", "keep one of the two"));
    }
    auto script = only_value("--shell", shell_);
    if (!script) return unexpected(script.error());
    request.shell = *script;
  } else if (line.command.empty()) {
    return unexpected(usage_failure("no command is given", "write it after --, for example: exechost run -- ls -l"));
  } else if (line.command.front().empty()) {
    return unexpected(usage_failure("the command's name is empty", "the first word after -- is the program to run"));
  }
  request.argv = line.command;
  if (!cwd_.empty()) {
    auto cwd = only_value("--cwd", cwd_);
    if (!cwd) return unexpected(cwd.error());
    request.cwd = *cwd;
  }
  if (auto done = add_environment(request); !done) return unexpected(done.error());
  auto overrides = this->overrides();
  if (!overrides) return unexpected(overrides.error());
  if (!overrides->values().empty()) request.settings_json = overrides->values().dump();
  request.settings_origins = overrides->sources();
  request.tty = tty_;
  request.recreate_session = recreate_;
  return request;
}

}  // namespace exechost::cli
