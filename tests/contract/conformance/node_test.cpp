// The node tier from outside: who gets there, who is asked, who is refused, and what a plain process is.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "tests/support/scene.hpp"

namespace exechost::test {
namespace {

using nlohmann::json;

class Node : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    scene_ = Scene::make(GetParam(), Place::var_tmp, why_not);
    if (!scene_) GTEST_SKIP() << why_not;
  }
  void user_settings(const std::string& text) const { scene_->file("home/.config/exechost/settings.json", text, 0600); }
  void allow_everything() const { user_settings(R"({"admission": {"node": {"security": "full", "ask": "off"}}})"); }
  json result_of(std::vector<std::string> arguments, int expected_status) const {
    arguments.insert(arguments.begin(), {"run", "--json"});
    const ProgramEnd end = scene_->run(std::move(arguments));
    EXPECT_EQ(end.exit_status(), expected_status) << end.out << end.err;
    return json::parse(end.out, nullptr, false);
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(scene_->workspace() + "/" + name); }

  std::unique_ptr<Scene> scene_;
};

INSTANTIATE_TEST_SUITE_P(As, Node, ::testing::Values("root", "user"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Node, IsRefusedByDefaultWhereNobodyCanBeAsked) {
  const json result = result_of({"--backend", "local", "--", "touch", "made it"}, 126);
  EXPECT_EQ(result.at("status"), "failed");
  EXPECT_EQ(result.at("started"), "no");
  EXPECT_EQ(result.at("failure").at("kind"), "denied");
  EXPECT_EQ(result.at("failure").at("phase"), "admission");
  EXPECT_EQ(result.at("failure").at("backend"), "local");
  EXPECT_EQ(result.at("failure").at("hint"),
            "to allow exactly this command: exechost approvals allow --tier node -- touch 'made it'");
  EXPECT_FALSE(exists("made it"));
}

TEST_P(Node, TheHintsCommandAllowsExactlyThatCommand) {
  const std::vector<std::string> command{
      "run", "--backend", "local", "--", "sh", "-c", "echo \"it's\" >out\necho done"};
  const ProgramEnd refused = scene_->run(command);
  ASSERT_EQ(refused.exit_status(), 126) << refused.err;
  const std::size_t begin = refused.err.find("exechost approvals allow");
  ASSERT_NE(begin, std::string::npos) << refused.err;
  const std::string hint = refused.err.substr(begin, refused.err.find('\n', begin) - begin);

  ProgramOptions shell = scene_->cli({});
  shell.argv = {"/bin/bash", "-c", hint};
  shell.env["PATH"] = test_prefix() + "/bin:" + shell.env["PATH"];
  const ProgramEnd allowed = run_program(shell);
  EXPECT_EQ(allowed.exit_status(), 0) << hint << "\n" << allowed.err;

  const ProgramEnd now = scene_->run(command);
  EXPECT_EQ(now.exit_status(), 0) << now.err;
  EXPECT_EQ(now.out, "done\n");
  EXPECT_EQ(read_file(scene_->workspace() + "/out"), "it's\n");
  // One word more is another command.
  EXPECT_EQ(
      scene_->run({"run", "--backend", "local", "--", "sh", "-c", "echo \"it's\" >out\necho done", "x"}).exit_status(),
      126);

  const ProgramEnd listed = scene_->run({"approvals", "list"});
  EXPECT_NE(listed.out.find("sh -c $'echo \"it\\'s\" >out\\necho done'"), std::string::npos) << listed.out;
  std::string revoke = hint;
  revoke.replace(revoke.find(" allow "), 7, " revoke ");
  shell.argv.back() = revoke;
  EXPECT_EQ(run_program(shell).exit_status(), 0);
  EXPECT_EQ(scene_->run(command).exit_status(), 126);
}

TEST_P(Node, EveryWayToNameItLeadsThereAndSaysSo) {
  allow_everything();
  for (const std::vector<std::string>& way : {std::vector<std::string>{"--backend", "local"}, {"--tier", "node"}}) {
    std::vector<std::string> arguments = way;
    arguments.insert(arguments.end(), {"--", "echo", "hi"});
    const json result = result_of(arguments, 0);
    EXPECT_EQ(result.at("tier"), "node");
    EXPECT_EQ(result.at("backend"), "local");
    EXPECT_EQ(result.at("isolation"), json::array({"none"}));
    EXPECT_EQ(result.at("approval"), nullptr);
    EXPECT_EQ(result.at("stdout"), "hi\n");
    EXPECT_FALSE(result.at("environment_id").is_null());
  }
  ProgramOptions by_variable = scene_->cli({"run", "--json", "--", "echo", "hi"});
  by_variable.env["TERMINAL_ENV"] = "local";
  const ProgramEnd end = run_program(by_variable);
  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_EQ(json::parse(end.out).at("tier"), "node");
}

TEST_P(Node, TheResultSaysHowATreeIsKilled) {
  allow_everything();
  const json result = result_of({"--backend", "local", "--", "true"}, 0);
  for (const json& setting : result.at("settings")) {
    if (setting.at("name") != "tree_kill") continue;
    const bool kernel = setting.at("grade") == "kernel" && setting.at("enforced_by") == "cgroup.kill";
    const bool emulated = setting.at("grade") == "emulated" && setting.at("enforced_by") == "child subreaper";
    EXPECT_TRUE(kernel || emulated) << setting;
    return;
  }
  FAIL() << "no tree_kill in " << result.at("settings");
}

TEST_P(Node, ExplainShowsTheTierAndWhatAdmissionSays) {
  const ProgramEnd text = scene_->run({"explain", "--backend", "local", "--", "make"});
  EXPECT_EQ(text.exit_status(), 0) << text.err;
  for (const char* part : {"node", "plain process", "isolation       none",
                           "admission       ask:", "exechost approvals allow --tier node -- make"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  const ProgramEnd document = scene_->run({"explain", "--json", "--backend", "local", "--", "make"});
  const json plan = json::parse(document.out);
  EXPECT_EQ(plan.at("tier"), "node");
  EXPECT_EQ(plan.at("view"), json::array());
  EXPECT_EQ(plan.at("confinement").at("none"), true);
  EXPECT_EQ(plan.at("admission").at("decision"), "ask");
  allow_everything();
  const ProgramEnd allowed = scene_->run({"explain", "--json", "--backend", "local", "--", "make"});
  EXPECT_EQ(json::parse(allowed.out).at("admission").at("decision"), "allowed");
}

TEST_P(Node, NeitherAProjectNorARequestLoosensIt) {
  const std::string full = R"({"admission": {"node": {"security": "full", "ask": "off"}}})";
  scene_->file("ws/.exechost.json", full);
  const json by_project = result_of({"--backend", "local", "--", "touch", "x"}, 125);
  EXPECT_EQ(by_project.at("failure").at("kind"), "invalid_request");
  EXPECT_NE(by_project.at("failure").at("message").get<std::string>().find("a project's file may only"),
            std::string::npos);
  EXPECT_FALSE(exists("x"));
  std::filesystem::remove(scene_->workspace() + "/.exechost.json");
  for (const char* loosen :
       {"admission.node.security=full", "admission.node.ask=off", R"(admission.node.allow=[["touch","x"]])"}) {
    const json by_request = result_of({"--backend", "local", "--set", loosen, "--", "touch", "x"}, 125);
    EXPECT_EQ(by_request.at("failure").at("kind"), "invalid_request") << loosen;
    EXPECT_FALSE(exists("x"));
  }
  // It may make it stricter.
  scene_->file("ws/.exechost.json", R"({"admission": {"node": {"security": "deny"}}})");
  allow_everything();
  const json stricter = result_of({"--backend", "local", "--", "touch", "x"}, 126);
  EXPECT_NE(stricter.at("failure").at("message").get<std::string>().find("security is deny"), std::string::npos);
  EXPECT_FALSE(exists("x"));
}

TEST_P(Node, IsAPlainProcessOfItsUser) {
  allow_everything();
  scene_->file("home/mine", "mine\n");
  scene_->file("out/there", "");
  const std::string script = "cat ~/mine; echo \"$HOME $PWD\"; echo more >" + scene_->outside() +
                             "/there; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; umask; "
                             "echo \"${TMPDIR-unset} ${SECRET_TOKEN-withheld}\"";
  ProgramOptions options = scene_->cli({"run", "--backend", "local", "--shell", script});
  options.env["SECRET_TOKEN"] = "s3cret";
  const mode_t before = umask(027);
  const ProgramEnd end = run_program(options);
  umask(before);
  EXPECT_EQ(end.exit_status(), 0) << end.err;
  EXPECT_EQ(end.out, "mine\n" + scene_->home() + " " + scene_->workspace() +
                         "\nNoNewPrivs:\t0\nSeccomp:\t0\n0027\nunset withheld\n");
  EXPECT_EQ(read_file(scene_->outside() + "/there"), "more\n");
}

TEST_P(Node, StartsWhereItIsToldIfThatExists) {
  allow_everything();
  const json there = result_of({"--backend", "local", "--cwd", scene_->outside(), "--", "pwd"}, 0);
  EXPECT_EQ(there.at("stdout"), scene_->outside() + "\n");
  const json nowhere = result_of({"--backend", "local", "--cwd", "/no/such/folder", "--", "pwd"}, 125);
  EXPECT_EQ(nowhere.at("failure").at("kind"), "invalid_request");
  EXPECT_EQ(result_of({"--backend", "local", "--", "/no/such/program"}, 127).at("failure").at("kind"), "spawn_failed");
  // A home is no place for a sandbox's workspace, but a plain process starts anywhere.
  ProgramOptions at_home = scene_->cli({"run", "--backend", "local", "--", "pwd"});
  at_home.cwd = scene_->home();
  EXPECT_EQ(run_program(at_home).out, scene_->home() + "\n");
}

TEST_P(Node, WhatItCannotEnforceIsRefusedWhenAskedFor) {
  allow_everything();
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"--memory", "100m"},
                                                {"--network", "none"},
                                                {"--deny-read", "/etc/passwd"},
                                                {"--image", "debian"}}) {
    std::vector<std::string> arguments{"--backend", "local"};
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    arguments.insert(arguments.end(), {"--", "touch", "x"});
    EXPECT_EQ(result_of(arguments, 125).at("failure").at("kind"), "unsupported") << asked.front();
    EXPECT_FALSE(exists("x"));
  }
}

TEST_P(Node, AtATerminalAPersonDecides) {
  for (const auto& [answer, status] : {std::pair{"y\n", 0}, std::pair{"\n", 126}}) {
    ProgramOptions options = scene_->cli({"run", "--backend", "local", "--", "touch", "asked"});
    options.terminal = true;
    Program program(options);
    ASSERT_TRUE(program.wait_for_output("[y/N] "));
    EXPECT_FALSE(exists("asked"));
    program.type(answer);
    const ProgramEnd end = program.finish();
    EXPECT_EQ(end.exit_status(), status) << end.out;
    EXPECT_EQ(exists("asked"), status == 0);
    std::filesystem::remove(scene_->workspace() + "/asked");
  }
}

TEST_P(Node, TheQuestionGoesToTheTerminalWhileInputIsAPipe) {
  ProgramOptions options = scene_->cli({});
  options.argv = {"/bin/sh", "-c",
                  "echo from the pipe | " + test_prefix() + "/bin/exechost run --json --backend local -- cat >result"};
  options.terminal = true;
  Program program(options);
  ASSERT_TRUE(program.wait_for_output("[y/N] "));
  program.type("yes\n");
  EXPECT_EQ(program.finish().exit_status(), 0);
  const json result = json::parse(read_file(scene_->workspace() + "/result"));
  EXPECT_EQ(result.at("stdout"), "from the pipe\n");
  EXPECT_EQ(result.at("approval"), json({{"answer", "once"}}));
}

TEST_P(Node, AQuestionEndsWithTheDeadlineAndWithAnInterrupt) {
  ProgramOptions late = scene_->cli({"run", "--backend", "local", "--timeout", "1s", "--", "touch", "x"});
  late.terminal = true;
  EXPECT_EQ(run_program(late).exit_status(), 124);
  ProgramOptions interrupted = scene_->cli({"run", "--backend", "local", "--", "touch", "x"});
  interrupted.terminal = true;
  Program program(interrupted);
  ASSERT_TRUE(program.wait_for_output("[y/N] "));
  program.type("\x03");
  EXPECT_EQ(program.finish().exit_status(), 130);
  EXPECT_FALSE(exists("x"));
}

TEST_P(Node, AWeakerPlaceIsAskedAboutOnce) {
  user_settings(R"({"backends": {"bwrap": {"path": "/no/such/bwrap"}}})");
  EXPECT_EQ(result_of({"--", "touch", "x"}, 125).at("failure").at("kind"), "unavailable");
  EXPECT_FALSE(exists("x"));
  ProgramOptions options = scene_->cli({"run", "--", "touch", "x"});
  options.terminal = true;
  Program program(options);
  ASSERT_TRUE(program.wait_for_output("[y/N] "));
  program.type("y\n");
  const ProgramEnd end = program.finish();
  EXPECT_EQ(end.exit_status(), 0) << end.out;
  for (const char* part : {"backend \"bwrap\" can't be used", "node tier", "files:", "network:", "processes:"}) {
    EXPECT_NE(end.out.find(part), std::string::npos) << part << "\n" << end.out;
  }
  EXPECT_EQ(end.out.find("[y/N]"), end.out.rfind("[y/N]")) << "one question: " << end.out;
  EXPECT_TRUE(exists("x"));
}

}  // namespace
}  // namespace exechost::test
