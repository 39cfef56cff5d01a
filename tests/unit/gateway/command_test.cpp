// What the command forms refuse, and where they are the gateway's own.
#include <filesystem>

#include "tests/unit/gateway/scene.hpp"

namespace exechost::gateway {
namespace {

using Argv = std::vector<std::string>;

// Each with something that the gateway's command does not have.
const std::vector<Argv>& foreign_forms() {
  static const std::vector<Argv> forms{Argv{},
                                       Argv{""},
                                       Argv{"rm", "f"},
                                       Argv{"/bin/cat", "f"},
                                       Argv{"sh", "-c", "cat f"},
                                       Argv{"cat", "-A", "f"},
                                       Argv{"cat", "--number", "f"},
                                       Argv{"cat", "f", "-v"},
                                       Argv{"head", "-5", "f"},
                                       Argv{"head", "-n", "-1", "f"},
                                       Argv{"head", "-n", "1k", "f"},
                                       Argv{"head", "-n"},
                                       Argv{"head", "-q", "f"},
                                       Argv{"tail", "-f", "f"},
                                       Argv{"tail", "-n", "x", "f"},
                                       Argv{"tail", "-n", "99999999999999999999", "f"},
                                       Argv{"ls", "-l"},
                                       Argv{"ls", "-aR"},
                                       Argv{"stat", "f"},
                                       Argv{"stat", "-c", "%x", "f"},
                                       Argv{"stat", "-c", "%5s", "f"},
                                       Argv{"stat", "-c", "%", "f"},
                                       Argv{"stat", "-c", "%s"},
                                       Argv{"stat", "-f", "f"},
                                       Argv{"wc", "-m", "f"},
                                       Argv{"pwd", "-P"},
                                       Argv{"test", "f"},
                                       Argv{"test", "-x", "f"},
                                       Argv{"test", "-e", "f", "-a", "-e", "f"},
                                       Argv{"test", "f", "=", "f"},
                                       Argv{"[", "-e", "f"},
                                       Argv{"[", "]"},
                                       Argv{"["},
                                       Argv{"find", ".", "-exec", "rm", "{}", ";"},
                                       Argv{"find", ".", "-delete"},
                                       Argv{"find", ".", "-name"},
                                       Argv{"find", ".", "-type", "l"},
                                       Argv{"find", "-L", "."},
                                       Argv{"find", ".", "-name", "a", "-o", "-name", "b"},
                                       Argv{"find", ".", "-maxdepth", "-1"},
                                       Argv{"find", ".", "!", "-name", "x"},
                                       Argv{"find", ".", "-name", "a", "-name", "b"},
                                       Argv{"find", "(", "-name", "a", ")"},
                                       Argv{"grep", "x", "f"},
                                       Argv{"grep", "-E", "x", "f"},
                                       Argv{"grep", "-F"},
                                       Argv{"grep", "-Fv", "x", "f"},
                                       Argv{"grep", "-F", "a\nb", "f"},
                                       Argv{"grep", "-F", "-e", "x", "f"},
                                       Argv{"sha256sum", "-c", "f"},
                                       Argv{"sha256sum", "--tag", "f"}};
  return forms;
}

void expect_refused(const Argv& argv) {
  const Scene scene;
  scene.file("f", "x\n");
  const auto end = try_run(scene.open(), argv);
  ASSERT_FALSE(end) << ::testing::PrintToString(argv);
  EXPECT_EQ(end.error().kind, FailureKind::unsupported) << describe(end.error());
  EXPECT_NE(end.error().hint.find("tier \"sandbox\""), std::string::npos) << describe(end.error());
}

TEST(GatewayCommand, RefusesOtherFormsBeforeAnythingIsRead) {
  for (const Argv& argv : foreign_forms()) {
    expect_refused(argv);
    EXPECT_FALSE(check_command(argv)) << ::testing::PrintToString(argv);
  }
}

TEST(GatewayCommand, RefusesAStandardInputThatIsNotThere) {
  for (const Argv& argv :
       std::vector<Argv>{{"cat"}, {"cat", "f", "-"}, {"head"}, {"wc"}, {"grep", "-F", "x"}, {"sha256sum"}}) {
    expect_refused(argv);
    EXPECT_TRUE(check_command(argv)) << ::testing::PrintToString(argv);
  }
}

TEST(GatewayCommand, NamesTheFlagItLacks) {
  const auto checked = check_command({"ls", "-la"});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "the gateway tier's ls does not have \"-la\"");
  EXPECT_EQ(checked.error().phase, Phase::plan);
  EXPECT_TRUE(check_command({"cat", "f"}));
  EXPECT_TRUE(check_command({"cat"}));  // with a standard input that is given whole
}

TEST(GatewayCommand, WhatIsOutsideIsDeniedWithAHint) {
  const Scene scene;
  const Gateway gateway = scene.open();
  const Ran cat = run(gateway, {"cat", "/etc/passwd"});
  EXPECT_EQ(cat.status, 1);
  EXPECT_EQ(cat.out, "");
  EXPECT_EQ(cat.err, "cat: /etc/passwd: Permission denied\n");
  ASSERT_EQ(cat.problems.size(), 1U);
  EXPECT_EQ(cat.problems.front().kind, FailureKind::denied);
  EXPECT_NE(cat.problems.front().hint.find("filesystem.allow_read"), std::string::npos);
}

TEST(GatewayCommand, TestDoesNotSayNoToWhatItMayNotSee) {
  const Scene scene;
  scene.file(".git/config", "x");
  scene.file("f", "x");
  scene.link("out", "../outside/secret");
  const Gateway gateway = scene.open();
  EXPECT_EQ(run(gateway, {"test", "-e", "/etc/passwd"}).status, 2);
  EXPECT_EQ(run(gateway, {"test", "-e", "out"}).status, 2);
  EXPECT_EQ(run(gateway, {"test", "-e", "missing"}).status, 1);
  EXPECT_EQ(run(gateway, {"test", "-w", ".git/config"}).status, 1);  // the gateway does not write it
  EXPECT_EQ(run(gateway, {"test", "-w", "f"}).status, 0);
  EXPECT_EQ(run(gateway, {"[", "-w", ".", "]"}).status, 0);
}

TEST(GatewayCommand, StartsWhereItIsTold) {
  const Scene scene;
  scene.file("sub/f", "here\n");
  scene.file("g", "above\n");
  scene.link("link", "sub");
  const Gateway gateway = scene.open();
  EXPECT_EQ(run(gateway, {"cat", "f"}, "", scene.in("sub")).out, "here\n");
  EXPECT_EQ(run(gateway, {"cat", "../g"}, "", scene.in("sub")).out, "above\n");
  EXPECT_EQ(run(gateway, {"pwd"}, "", scene.in("link")).out, scene.in("sub") + "\n");
  EXPECT_EQ(run(gateway, {"pwd"}).out, scene.workspace() + "\n");
}

TEST(GatewayCommand, OutputComesInPiecesOfBoundedSize) {
  const Scene scene;
  const std::string big(3'000'000, 'x');
  scene.file("big", big);
  CommandRequest request;
  request.argv = {"cat", "big"};
  std::string out;
  std::size_t largest = 0;
  CommandSinks sinks;
  sinks.out = [&](std::string_view bytes) {
    out += bytes;
    largest = std::max(largest, bytes.size());
  };
  sinks.err = [](std::string_view) { ADD_FAILURE(); };
  ASSERT_THAT(run_command(scene.open(), request, sinks), Succeeds());
  EXPECT_EQ(out, big);
  EXPECT_LE(largest, 1024U * 1024U);
}

}  // namespace
}  // namespace exechost::gateway
