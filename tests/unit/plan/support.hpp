// A machine that exists only in memory, and short ways to write requests and settings.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plan/compose.hpp"
#include "core/plan/plan.hpp"

namespace exechost::plan::testing {

// The settings as they are when nobody set anything, and changes to them.
class SettingsBuilder {
 public:
  SettingsBuilder();
  SettingsBuilder& set(const std::string& dotted, nlohmann::json value,
                       settings::Scope scope = settings::Scope::request);
  // A value that nobody asked for.
  SettingsBuilder& built_in(const std::string& dotted, nlohmann::json value) {
    return set(dotted, std::move(value), settings::Scope::built_in);
  }
  settings::Settings build() const { return settings::Settings(values_, origins_, {}); }

 private:
  nlohmann::json values_;
  std::map<std::string, settings::Origin> origins_;
};

// Files and folders by absolute path; facts as gather() would find them.
class FakeMachine {
 public:
  FakeMachine();  // a plain system with the user "u", uid 1000, and the workspace /home/u/ws
  FakeMachine& folder(const std::string& path);
  FakeMachine& file(const std::string& path);
  FakeMachine& fifo(const std::string& path);
  FakeMachine& link(const std::string& path, const std::string& target);
  FakeMachine& without(const std::string& path);

  Facts facts;  // everything but `paths`
  Facts look(const settings::Settings& settings, const std::vector<std::string>& also = {}) const;

 private:
  struct Node {
    FileKind kind = FileKind::folder;
    std::string target;
  };
  FakeMachine& add(const std::string& path, Node node);
  PathFact inspect(const std::string& path) const;
  std::map<std::string, Node> nodes_;
};

// bwrap as it is on a machine where everything works.
BackendFacts bwrap();
// The node tier as the keeper's probe finds it.
BackendFacts local();
// Changes what the backend states and what its probe confirms.
void grant(BackendFacts& backend, const std::string& capability, Grade grade);

// "path=access" of each entry, in order.
std::vector<std::string> shape(const View& view);

struct Planned {
  SettingsBuilder settings;
  FakeMachine machine;
  std::vector<BackendFacts> backends{bwrap()};
  Request request;
  bool can_ask = false;
  bool builtin = false;
  std::string workspace_copy;

  Planned() { request.argv = {"true"}; }
  Result<Plan> plan() const;
  Result<View> view(std::vector<std::string>* warnings = nullptr) const;
};

}  // namespace exechost::plan::testing
