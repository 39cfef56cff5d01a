// The scripts, loaded by the shells they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "cli/application.hpp"
#include "cli/completion/script.hpp"

namespace exechost::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

using Words = std::set<std::string>;

class Completion : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/exechost-completion-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    // Stands for the program when a script asks which names there are.
    write("exechost",
          "#!/bin/sh\n[ \"$1 $2\" = 'completion --values' ] || exit 1\ncase $3 in backends) echo bwrap; echo other;; "
          "profiles) echo run; echo mine;; esac\n");
    ASSERT_EQ(::chmod((folder_ + "/exechost").c_str(), 0755), 0);
    write("script.bash", bash_completion(commands()));
    write("script.zsh", zsh_completion(commands()));
    write("script.fish", fish_completion(commands()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::vector<CompletableCommand> commands() {
    const Application application;
    return completable_commands(application.parser());
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ + "/" + name) << text; }

  static bool has(const std::string& program) {
    // NOLINTNEXTLINE(cert-env33-c): a shell is what is asked
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
  }

  // Output lines of a shell; a failing shell fails the test.
  Words lines_of(const std::string& command) const {
    const std::string whole = "cd '" + folder_ + "' && PATH='" + folder_ + "':$PATH HOME='" + folder_ + "' " + command;
    FILE* pipe = ::popen(whole.c_str(), "r");  // NOLINT(cert-env33-c): a shell is what is tested
    EXPECT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), got);
    EXPECT_EQ(::pclose(pipe), 0) << whole << "\n" << output;
    Words words;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find('\t'));
      while (line.ends_with(' ')) line.pop_back();
      if (!line.empty()) words.insert(line);
    }
    return words;
  }

  // Completions of the last of `words` in bash.
  Words bash(const std::string& words) const {
    return lines_of(
        "bash --norc -c '. ./script.bash; COMP_WORDS=(" + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _exechost 2>/dev/null; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  }
  Words fish(const std::string& line) const {
    return lines_of("fish --no-config -c 'source script.fish; complete -C \"" + line + "\"'");
  }

  std::string folder_;
};

TEST_F(Completion, BashKnowsTheCommands) {
  EXPECT_THAT(bash("exechost \"\""),
              IsSupersetOf({"run", "explain", "backends", "doctor", "settings", "schema", "completion"}));
  EXPECT_THAT(bash("exechost ex"), ElementsAre("explain"));
}

TEST_F(Completion, BashKnowsEveryOptionOfEveryCommand) {
  for (const CompletableCommand& command : commands()) {
    const Words offered = bash("exechost " + command.name + " --");
    for (const CompletableOption& option : command.options)
      EXPECT_THAT(offered, Contains(option.names.front())) << command.name;
  }
}

TEST_F(Completion, BashKnowsValues) {
  EXPECT_THAT(bash("exechost run --network \"\""), ElementsAre("filtered", "full", "none"));
  EXPECT_THAT(bash("exechost run --network = fi"), ElementsAre("filtered"));
  EXPECT_THAT(bash("exechost run --network ="), ElementsAre("filtered", "full", "none"));
  EXPECT_THAT(bash("exechost run --backend \"\""), ElementsAre("bwrap", "other"));
  EXPECT_THAT(bash("exechost run --profile m"), ElementsAre("mine"));
  EXPECT_THAT(bash("exechost schema \"\""), IsSupersetOf({"settings", "plan", "result", "capability", "open"}));
  EXPECT_THAT(bash("exechost completion z"), ElementsAre("zsh"));
  EXPECT_THAT(bash("exechost plugin n"), ElementsAre("new"));
}

TEST_F(Completion, BashHidesWhatIsForScripts) {
  EXPECT_THAT(bash("exechost completion --"), Not(Contains("--values")));
}

TEST_F(Completion, BashLeavesTheWordsAfterTheSeparatorToTheCommand) {
  EXPECT_THAT(bash("exechost run -- bas"), Contains("bash"));
  EXPECT_THAT(bash("exechost run -- cat script."), ElementsAre("script.bash", "script.fish", "script.zsh"));
  EXPECT_THAT(bash("exechost run -- cat --netw"), Not(Contains("--network")));
}

TEST_F(Completion, BashScriptIsFreeOfKnownMistakes) {
  if (!has("shellcheck")) GTEST_SKIP() << "shellcheck is not installed";
  EXPECT_THAT(lines_of("shellcheck --shell=bash script.bash"), testing::IsEmpty());
}

TEST_F(Completion, ZshLoadsTheScriptAndHasTheFunction) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_THAT(
      lines_of("zsh -f -c 'autoload -Uz compinit; compinit -D -u; source ./script.zsh; print -l ${_comps[exechost]}'"),
      ElementsAre("_exechost"));
}

TEST_F(Completion, ZshCompletes) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  // The only way to ask zsh for completions is a terminal: zpty is zsh's own.
  write("ask.zsh", R"(zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='RE''ADY '; autoload -Uz compinit; compinit -D -u; source ./script.zsh; LISTMAX=1000"
zpty -r -m shell line '*READY*' || exit 1
zpty -w -n shell "exechost $1"$'\t'
zpty -r -m shell line "*$2*" && print found
zpty -d shell
)");
  const auto answer = [this](const std::string& typed, const std::string& expected) {
    return lines_of("timeout 60 zsh -f ask.zsh '" + typed + "' '" + expected + "'");
  };
  EXPECT_THAT(answer("exp", "explain"), Contains("found"));
  EXPECT_THAT(answer("run --netw", "--network"), Contains("found"));
  EXPECT_THAT(answer("run --backend=bw", "bwrap"), Contains("found"));
  EXPECT_THAT(answer("run -- unam", "uname"), Contains("found"));
}

TEST_F(Completion, FishCompletes) {
  if (!has("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_THAT(fish("exechost "), IsSupersetOf({"run", "explain", "doctor"}));
  EXPECT_THAT(fish("exechost run --network "), ElementsAre("filtered", "full", "none"));
  EXPECT_THAT(fish("exechost run --backend "), ElementsAre("bwrap", "other"));
  EXPECT_THAT(fish("exechost run --mem"), ElementsAre("--memory"));
  EXPECT_THAT(fish("exechost run -- cat script.b"), Contains("script.bash"));
  EXPECT_THAT(fish("exechost run -- cat --netw"), Not(Contains("--network")));
}

}  // namespace
}  // namespace exechost::cli
