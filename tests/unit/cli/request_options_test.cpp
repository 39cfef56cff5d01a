#include "cli/request_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace exechost::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Parses as the program does, "--" and all.
Result<Request> parse(const std::vector<std::string>& arguments) {
  CLI::App app;
  RequestOptions options;
  options.add_command_options(app);
  options.add_to(app);
  const CommandLine line = split_command_line(arguments);
  app.parse(std::vector<std::string>(line.options.rbegin(), line.options.rend()));
  return options.to_request(line);
}

json settings_of(std::vector<std::string> options) {
  options.insert(options.end(), {"--", "true"});
  const auto request = parse(options);
  if (!request) return request.error().message;
  return request->settings_json.empty() ? json::object() : json::parse(request->settings_json);
}

std::string error_of(const std::vector<std::string>& arguments) {
  const auto request = parse(arguments);
  return request ? "no error" : request.error().message + " | " + request.error().hint;
}

TEST(RequestOptions, NothingGivenOverridesNothing) { EXPECT_EQ(settings_of({}), json::object()); }

TEST(RequestOptions, EveryScalarOptionIsItsSetting) {
  EXPECT_EQ(
      settings_of({"--backend",
                   "bwrap",
                   "--tier=sandbox",
                   "--profile",
                   "install",
                   "--session",
                   "s",
                   "--image",
                   "debian:12",
                   "--cpu",
                   "0.5",
                   "--memory",
                   "512m",
                   "--disk",
                   "1GiB",
                   "--timeout",
                   "30s",
                   "--output-cap",
                   "2m",
                   "--network",
                   "none",
                   "--on-unavailable",
                   "closed"}),
      json::parse(R"({"backend":"bwrap","tier":"sandbox","profile":"install","session":{"name":"s"},"image":"debian:12",
                 "resources":{"cpu":"0.5","memory":"512m","disk":"1GiB","timeout":"30s","output_cap":"2m"},
                 "network":{"mode":"none"},"on_unavailable":"closed"})"));
}

TEST(RequestOptions, FlagsAreSettings) {
  EXPECT_EQ(settings_of({"--no-persistent", "--strict", "--spill"}),
            json::parse(R"({"session":{"persistent":false},"strict":true,"resources":{"output_spill":true}})"));
  EXPECT_EQ(settings_of({"--persistent"}), json::parse(R"({"session":{"persistent":true}})"));
  EXPECT_EQ(settings_of({"--best-effort"}), json::parse(R"({"best_effort":["*"]})"));
  EXPECT_EQ(settings_of({"--best-effort=resources.cpu,resources.memory"}),
            json::parse(R"({"best_effort":["resources.cpu","resources.memory"]})"));
}

TEST(RequestOptions, PathsAreMeantFromTheCurrentFolder) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(settings_of({"--allow-write", "out/", "--allow-write", "/srv", "--deny-read", "~/x", "--workspace", "."}),
            (json{{"filesystem", {{"allow_write", {here + "/out", "/srv"}}, {"deny_read", {"~/x"}}}},
                  {"workspace", {{"path", here}}}}));
}

TEST(RequestOptions, ADomainMeansFilteredUnlessTheModeIsGiven) {
  EXPECT_EQ(settings_of({"--allow-domain", "a.example", "--allow-domain", "b.example"}),
            json::parse(R"({"network":{"allowed_domains":["a.example","b.example"],"mode":"filtered"}})"));
  EXPECT_EQ(settings_of({"--allow-domain", "a.example", "--network", "none"}),
            json::parse(R"({"network":{"allowed_domains":["a.example"],"mode":"none"}})"));
  EXPECT_EQ(settings_of({"--deny-domain", "a.example"}),
            json::parse(R"({"network":{"denied_domains":["a.example"]}})"));
}

TEST(RequestOptions, ValuesThatLookLikeTheParsersOwnSyntaxAreValues) {
  EXPECT_EQ(settings_of({"--allow-domain", "[a,b]", "--network", "none"}),
            json::parse(R"({"network":{"allowed_domains":["[a,b]"],"mode":"none"}})"));
  EXPECT_EQ(settings_of({"--image", "{}"}), json::parse(R"({"image":"{}"})"));
  EXPECT_EQ(settings_of({"--image="}), json::parse(R"({"image":""})"));
  EXPECT_EQ(settings_of({"--image", "--strict"}), json::parse(R"({"image":"--strict"})"));
}

TEST(RequestOptions, OriginsNameTheOption) {
  const auto request = parse({"--memory", "1g", "--set", "resources.pids=9", "--allow-domain", "d", "--", "true"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->settings_origins,
            (std::map<std::string, std::string>{{"/resources/memory", "--memory"},
                                                {"/resources/pids", "--set"},
                                                {"/network/allowed_domains", "--allow-domain"},
                                                {"/network/mode", "--allow-domain"}}));
}

TEST(RequestOptions, SetTakesAnyJson) {
  EXPECT_EQ(settings_of({"--set", "a.b=[1,{\"c\":null}]", "--set", "d=\"x=y\"", "--set", "environment.set.0=\"zero\""}),
            json::parse(R"({"a":{"b":[1,{"c":null}]},"d":"x=y","environment":{"set":{"0":"zero"}}})"));
}

TEST(RequestOptions, CommandOptionsAreFieldsOfTheRequest) {
  const auto request = parse({"--cwd", "sub", "--env", "A=b=c", "--env", "B=", "--tty", "--", "-x", "", "--"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->cwd, "sub");
  EXPECT_EQ(request->env, (std::map<std::string, std::string>{{"A", "b=c"}, {"B", ""}}));
  EXPECT_TRUE(request->tty);
  EXPECT_EQ(request->argv, (std::vector<std::string>{"-x", "", "--"}));
  EXPECT_EQ(parse({"--shell", "--help"})->shell, "--help");
}

TEST(RequestOptions, ErrorsNameTheOptionAndTheValue) {
  EXPECT_THAT(error_of({}), HasSubstr("no command"));
  EXPECT_THAT(error_of({"--"}), HasSubstr("no command"));
  EXPECT_THAT(error_of({"--", ""}), HasSubstr("name is empty"));
  EXPECT_THAT(error_of({"--shell", "a", "--", "b"}), HasSubstr("both --shell and a command"));
  EXPECT_THAT(error_of({"--env", "HOME", "--", "x"}), HasSubstr("\"HOME\" has no value"));
  EXPECT_THAT(error_of({"--env", "1A=b", "--", "x"}), HasSubstr("\"1A\" is not a name"));
  EXPECT_THAT(error_of({"--env", "=b", "--", "x"}), HasSubstr("\"\" is not a name"));
  EXPECT_THAT(error_of({"--env", "A B=c", "--", "x"}), HasSubstr("\"A B\" is not a name"));
  EXPECT_THAT(error_of({"--env", "A=1", "--env", "A=2", "--", "x"}), HasSubstr("--env A is given twice"));
  EXPECT_THAT(error_of({"--memory", "1g", "--memory", "2g", "--", "x"}), HasSubstr("--memory is given 2 times"));
  EXPECT_THAT(error_of({"--memory", "1g", "--set", "resources.memory=\"2g\"", "--", "x"}),
              HasSubstr("resources.memory is given twice: by --memory and by --set"));
  EXPECT_THAT(error_of({"--memory", "1g", "--set", "resources={}", "--", "x"}), HasSubstr("resources is given twice"));
  EXPECT_THAT(error_of({"--persistent", "--no-persistent", "--", "x"}), HasSubstr("contradict"));
  EXPECT_THAT(error_of({"--set", "a", "--", "x"}), HasSubstr("is not NAME=JSON"));
  EXPECT_THAT(error_of({"--set", "a..b=1", "--", "x"}), HasSubstr("is not NAME=JSON"));
  EXPECT_THAT(error_of({"--set", "image=debian", "--", "x"}), HasSubstr("the value \"debian\" is not JSON"));
  EXPECT_THAT(error_of({"--set", "a=" + std::string(100, '[') + std::string(100, ']'), "--", "x"}),
              HasSubstr("is not JSON"));
  EXPECT_THAT(error_of({"--image", "\xff", "--", "x"}),
              HasSubstr("--image: the value \"\xEF\xBF\xBD\" is not valid UTF-8"));
}

TEST(RequestOptions, AnOptionWithoutItsValueIsAnError) {
  EXPECT_THROW(parse({"--memory", "--", "x"}), CLI::ParseError);
  EXPECT_THROW(parse({"--shell"}), CLI::ParseError);
}

}  // namespace
}  // namespace exechost::cli
