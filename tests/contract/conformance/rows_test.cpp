// Runs every row of tests/data/conformance against the product.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <list>
#include <regex>

#include "exechost_test_paths.hpp"
#include "tests/contract/conformance/row.hpp"
#include "tests/support/listeners.hpp"
#include "tests/support/scene.hpp"
#include "tests/support/tree.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ConformanceRow : public ::testing::TestWithParam<Case> {
 protected:
  void prepare() {
    variables_ = {{"WS", scene_->workspace()},
                  {"OUT", scene_->outside()},
                  {"HOME", scene_->home()},
                  {"BASE", scene_->base()},
                  {"PROBE", scene_->workspace() + "/.probe"},
                  {"UID", std::to_string(scene_->account().uid)},
                  {"GID", std::to_string(scene_->account().gid)},
                  {"UNIQUE", "exechost-" + std::to_string(getpid())}};
    for (const auto& step : GetParam().row.setup) {
      if (step.contains("folder")) {
        scene_->folder(text(step.at("folder")));
      } else if (step.contains("file")) {
        const auto mode = static_cast<mode_t>(std::stoul(step.value("mode", "644"), nullptr, 8));
        const std::string content = step.contains("copy_of") ? read_file(step.at("copy_of").get<std::string>())
                                                             : text(step.value("content", json("")));
        scene_->file(text(step.at("file")), content, mode);
        if (step.contains("owner")) own_by_root(scene_->base() + "/" + text(step.at("file")), mode);
      } else if (step.contains("link")) {
        scene_->link(text(step.at("link")), text(step.at("target")));
      } else if (step.contains("fifo")) {
        const std::string path = scene_->base() + "/" + text(step.at("fifo"));
        ASSERT_EQ(mkfifo(path.c_str(), 0644), 0);
        scene_->give_to_account(path);
      } else if (step.contains("probe")) {
        scene_->install_probe();
      } else if (step.contains("host_file")) {
        host_files_.push_back(text(step.at("host_file")));
        ASSERT_FALSE(exists(host_files_.back()));
      } else if (step.contains("tcp_listener")) {
        listeners_.push_back(Listener::tcp(text(step.at("tcp_listener"))));
        variables_["PORT"] = std::to_string(listeners_.back().port());
      } else if (step.contains("unix_listener")) {
        listeners_.push_back(Listener::unix_path(scene_->base() + "/" + text(step.at("unix_listener"))));
      } else if (step.contains("abstract_listener")) {
        listeners_.push_back(Listener::unix_abstract(text(step.at("abstract_listener"))));
      } else {
        FAIL() << "unknown setup step " << step.dump();
      }
    }
  }

  // A set-user-id program of root's: only root can prepare it.
  static void own_by_root(const std::string& path, mode_t mode) {
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }

  std::string text(const json& value) const {
    std::string result = value.get<std::string>();
    for (const auto& [name, replacement] : variables_) {
      const std::string pattern = "${" + name + "}";
      for (auto at = result.find(pattern); at != std::string::npos; at = result.find(pattern, at)) {
        result.replace(at, pattern.size(), replacement);
        at += replacement.size();
      }
    }
    return result;
  }

  ProgramEnd run() const {
    const Row& row = GetParam().row;
    std::vector<std::string> arguments{"run"};
    for (const auto* list : {&row.options, &row.command}) {
      for (const auto& word : *list) arguments.push_back(text(word));
    }
    ProgramOptions options = scene_->cli(std::move(arguments));
    for (const auto& [name, value] : row.env) options.env[name] = text(value);
    options.input = text(row.input);
    return run_program(options);
  }

  void check_exit(const json& expected, const ProgramEnd& end) const {
    if (expected == "failure") {
      // The command's own failure, not ours (124-127) and not a signal.
      EXPECT_GE(end.exit_status(), 1);
      EXPECT_LE(end.exit_status(), 123);
    } else {
      EXPECT_EQ(end.exit_status(), expected.get<int>());
    }
  }

  void check_streams(const json& expect, const ProgramEnd& end) const {
    if (expect.contains("stdout")) {
      EXPECT_EQ(end.out, text(expect.at("stdout")));
    }
    if (expect.contains("stdout_lines")) {  // order doesn't matter
      std::vector<std::string> lines;
      std::istringstream stream(end.out);
      for (std::string line; std::getline(stream, line);) lines.push_back(line);
      std::vector<std::string> expected;
      for (const auto& line : expect.at("stdout_lines")) expected.push_back(text(line));
      EXPECT_THAT(lines, ::testing::UnorderedElementsAreArray(expected));
    }
    for (const auto& part : expect.value("stdout_contains", json::array())) {
      EXPECT_THAT(end.out, HasSubstr(text(part)));
    }
    for (const auto& part : expect.value("stdout_lacks", json::array())) {
      EXPECT_THAT(end.out, Not(HasSubstr(text(part))));
    }
    for (const auto& part : expect.value("stderr_contains", json::array())) {
      EXPECT_THAT(end.err, HasSubstr(text(part)));
    }
    for (const auto& part : expect.value("stderr_lacks", json::array())) {
      EXPECT_THAT(end.err, Not(HasSubstr(text(part))));
    }
    if (expect.contains("json")) {  // standard output is a result object with at least these members
      const json result = json::parse(end.out, nullptr, false);
      ASSERT_TRUE(result.is_object()) << end.out;
      for (const auto& [pointer, value] : expect.at("json").items()) {
        const json::json_pointer at(pointer);
        ASSERT_TRUE(result.contains(at)) << pointer << " in " << end.out.substr(0, 2000);
        EXPECT_EQ(result.at(at), value) << pointer;
      }
    }
  }

  void check_files(const json& expect) const {
    const json inside = expect.value("files", json::object());
    for (const auto& [path, content] : inside.items()) {
      const std::string full = scene_->base() + "/" + path;
      if (content.is_null()) {
        EXPECT_FALSE(exists(full)) << path;
      } else {
        EXPECT_EQ(read_file(full), text(content)) << path;
      }
    }
    const json elsewhere = expect.value("host_files", json::object());
    for (const auto& [path, content] : elsewhere.items()) {
      if (content.is_null()) {
        EXPECT_FALSE(exists(text(path))) << path;
      } else {
        EXPECT_EQ(read_file(text(path)), text(content)) << path;
      }
    }
  }

  Tree tree() const {
    Tree all = describe_tree(scene_->base());
    std::erase_if(all, [](const auto& entry) { return entry.first.starts_with("xdg/"); });
    return all;
  }

  void TearDown() override {
    for (const auto& path : host_files_) std::filesystem::remove(path);
  }

  std::unique_ptr<Scene> scene_;
  std::map<std::string, std::string> variables_;
  std::list<Listener> listeners_;
  std::vector<std::string> host_files_;
};

TEST_P(ConformanceRow, Holds) {
  const Case& one = GetParam();
  std::string why_not;
  scene_ = Scene::make(one.user, place_from(one.place).value(), why_not);
  if (!scene_) GTEST_SKIP() << why_not;
  for (const auto& program : one.row.needs) {
    if (!exists(program)) GTEST_SKIP() << program << " is not installed";
  }
  prepare();
  if (HasFatalFailure()) return;
  const Tree before = tree();

  const ProgramEnd end = run();

  SCOPED_TRACE("stdout: " + end.out.substr(0, 4000));
  SCOPED_TRACE("stderr: " + end.err.substr(0, 4000));
  const json& expect = one.row.expect;
  check_exit(expect.at("exit"), end);
  check_streams(expect, end);
  check_files(expect);
  std::vector<std::string> changes;
  for (const auto& path : expect.value("changes", json::array())) changes.push_back(text(path));
  EXPECT_THAT(changed_paths(before, tree()), ::testing::UnorderedElementsAreArray(changes));
  EXPECT_LE(end.duration.count(), expect.value("max_ms", 20000));
  EXPECT_TRUE(end.left_behind.empty()) << to_text(end.left_behind);
  for (const auto& listener : listeners_) EXPECT_EQ(listener.visitors(), 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, ConformanceRow, ::testing::ValuesIn(load_cases(EXECHOST_TEST_DATA "/conformance")),
                         [](const auto& tested) { return tested.param.name(); });

}  // namespace
}  // namespace exechost::test
