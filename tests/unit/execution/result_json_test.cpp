#include "core/execution/result_json.hpp"

#include <fstream>

#include "core/base/base64.hpp"
#include "support.hpp"

namespace exechost {
namespace {

using nlohmann::json;

json schema() {
  std::ifstream file(EXECHOST_RESULT_SCHEMA);
  return json::parse(file);
}

// Every member the schema requires is there, and nothing that it doesn't know.
void expect_shape(const json& object, const json& shape) {
  for (const auto& name : shape["required"]) EXPECT_TRUE(object.contains(name)) << name;
  for (const auto& [name, value] : object.items()) EXPECT_TRUE(shape["properties"].contains(name)) << name;
}

TEST(ResultJson, HasTheShapeOfItsSchema) {
  ExecResult result;
  result.failure.emplace();
  result.failure->message = "no";
  result.attempts.push_back({"docker", *result.failure});
  result.settings.push_back({"resources.memory", "null", "536870912", "kernel", "rlimit", "built-in"});
  const json object = json::parse(result.to_json());
  const json shape = schema();
  expect_shape(object, shape);
  expect_shape(object["failure"], shape["$defs"]["failure"]);
  expect_shape(object["attempts"][0], shape["properties"]["attempts"]["items"]);
  expect_shape(object["settings"][0], shape["properties"]["settings"]["items"]);
  expect_shape(object["usage"], shape["properties"]["usage"]);
  expect_shape(object["truncation"], shape["properties"]["truncation"]);
  EXPECT_EQ(object["settings"][0]["effective"], 536870912) << "values are JSON, not text";
  EXPECT_EQ(object["settings"][0]["requested"], nullptr);
}

TEST(ResultJson, TextAsTextAndBytesAsBase64) {
  ExecResult result;
  result.status = Status::exited;
  result.exit_code = 3;
  result.out.data = "héllo\n";
  result.out.total_bytes = result.out.data.size();
  result.err.data = std::string("\xff\x00z", 3);
  result.err.total_bytes = 3;
  const json object = json::parse(result.to_json());
  EXPECT_EQ(object["stdout"], "héllo\n");
  EXPECT_FALSE(object.contains("stdout_base64"));
  EXPECT_FALSE(object.contains("stderr"));
  EXPECT_EQ(base64_decode(object["stderr_base64"].get<std::string>()), result.err.data);
  EXPECT_EQ(object["exit_code"], 3);
  EXPECT_EQ(object["signal"], nullptr);
  EXPECT_EQ(object["failure"], nullptr);
  EXPECT_EQ(object["truncated"], false);
}

TEST(ResultJson, OnlyTheMatchingEndIsShown) {
  ExecResult result;
  result.status = Status::signaled;
  result.signal_number = 11;
  json object = json::parse(result.to_json());
  EXPECT_EQ(object["signal"], 11);
  EXPECT_EQ(object["exit_code"], nullptr);
  result.status = Status::timed_out;
  result.stopped_phase = Phase::provision;
  object = json::parse(result.to_json());
  EXPECT_EQ(object["status"], "timed_out");
  EXPECT_EQ(object["stopped_phase"], "provision");
  EXPECT_EQ(object["signal"], nullptr);
}

TEST(ResultJson, SaysWhatWasCut) {
  ExecResult result;
  result.out.data = "abyz";
  result.out.total_bytes = 26;
  result.out.dropped_bytes = 22;
  result.out.head_bytes = 2;
  const json object = json::parse(result.to_json());
  EXPECT_EQ(object["truncated"], true);
  EXPECT_EQ(object["truncation"]["stdout"], json({{"head_bytes", 2}, {"dropped_bytes", 22}}));
  EXPECT_EQ(object["truncation"]["stderr"], nullptr);
}

TEST(ResultJson, ForeignTextCannotBreakIt) {
  ExecResult result;
  result.failure.emplace();
  result.failure->message = "bad \xff byte";
  result.warnings.emplace_back("\x80");
  EXPECT_TRUE(json::accept(result.to_json()));
}

}  // namespace
}  // namespace exechost
