// Which variables a command sees, and where the values of those that it is given are not.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/contract/behaviours/place.hpp"
#include "tests/support/witness.hpp"

namespace exechost::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Secrets : public InEachPlace {
 protected:
  // Not one text in this source, where a core file or a log of the test could have it from.
  const std::string secret_ = "sentinel-" + std::to_string(getpid()) + "-value";

  // Command lines of this machine, and files of the scene (state, cache, runtime folder, home, workspace), that hold
  // it.
  std::vector<std::string> holders() const {
    std::vector<std::string> found;
    for (const auto& process : all_processes()) {
      if (process.command.find(secret_) != std::string::npos) found.push_back(process.command);
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scene_->base())) {
      if (entry.is_regular_file() && read_file(entry.path()).find(secret_) != std::string::npos) {
        found.push_back(entry.path().string());
      }
    }
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(In, Secrets, ::testing::Values(Where::alone, Where::session, Where::node), place_name);

// Elsewhere: a list of forbidden names lets through every name that its author did not think of.
TEST_P(Secrets, OnlyVariablesOfTheAllowListReachACommand) {
  HostOptions options = options_of_host();
  for (const char* name : {"X_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_PROVIDER", "SSH_AUTH_SOCK", "NODE_OPTIONS",
                           "DATABASE_URL", "PGPASSWORD"}) {
    (*options.environment)[name] = secret_;
  }
  use(options);
  const ExecResult result = run("env; tr '\\0' '\\n' < /proc/$PPID/environ; true");
  EXPECT_EQ(result.exit_code, 0) << why(result);
  EXPECT_THAT(result.out.data, HasSubstr("PATH="));
  EXPECT_THAT(result.out.data, Not(HasSubstr(secret_)));
  EXPECT_THAT(holders(), IsEmpty());
}

// Elsewhere: values are words of the sandbox's command line, which every user can read, and what a shell exports is
// written to a file after every command.
TEST_P(Secrets, AValueThatIsGivenIsOnNoCommandLineAndInNoFile) {
  const Barrier barrier(path("barrier"));
  const Witness witness(path("witness"));
  Request request = script("export KEPT=$GIVEN_TOKEN; echo ${#GIVEN_TOKEN}; " + witness.hold() + barrier.wait());
  request.env = {{"GIVEN_TOKEN", secret_}};
  const auto shown = host().explain_json(request);
  ASSERT_TRUE(shown) << describe(shown.error());
  EXPECT_THAT(*shown, Not(HasSubstr(secret_)));
  Execution running = start(request);
  ASSERT_TRUE(witness.wait_held());
  EXPECT_THAT(holders(), IsEmpty()) << "while it runs";
  barrier.open();
  const ExecResult& result = running.wait();
  EXPECT_EQ(result.out.data, std::to_string(secret_.size()) + "\n") << why(result);
  EXPECT_THAT(result.to_json(), Not(HasSubstr(secret_)));
  EXPECT_THAT(holders(), IsEmpty()) << "afterwards";
  if (where_ == Where::session) {
    EXPECT_EQ(run("echo ${#KEPT}").out.data, std::to_string(secret_.size()) + "\n") << "kept, but in memory";
    EXPECT_THAT(holders(), IsEmpty());
  }
  scene_->file("xdg/state/written", secret_);
  EXPECT_EQ(holders().size(), 1U) << "the search finds it where it is";
}

}  // namespace
}  // namespace exechost::test
