#include "tests/contract/conformance/row.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

namespace exechost::test {
namespace {

using nlohmann::json;

const std::set<std::string> kRowKeys{"id",    "source",  "note", "contradicts", "users", "places", "needs",
                                     "setup", "options", "env",  "stdin",       "argv",  "shell",  "expect"};
const std::set<std::string> kExpectKeys{"exit",         "stdout",          "stdout_contains", "stdout_lacks",
                                        "stdout_lines", "stderr_contains", "stderr_lacks",    "changes",
                                        "files",        "host_files",      "max_ms",          "json"};

void check_keys(const json& object, const std::set<std::string>& known, const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw std::runtime_error(where + ": unknown member \"" + key + "\"");
  }
}

Row parse_row(const json& object, const std::string& file) {
  Row row;
  row.id = object.at("id").get<std::string>();
  const std::string where = file + ": row " + row.id;
  check_keys(object, kRowKeys, where);
  if (!object.contains("source")) throw std::runtime_error(where + ": no source");
  row.users = object.value("users", row.users);
  row.places = object.value("places", row.places);
  row.needs = object.value("needs", row.needs);
  row.setup = object.value("setup", row.setup);
  row.options = object.value("options", row.options);
  row.env = object.value("env", row.env);
  row.input = object.value("stdin", row.input);
  if (object.contains("argv") == object.contains("shell")) throw std::runtime_error(where + ": argv or shell, one");
  if (object.contains("shell")) {
    row.command = {"--shell", object.at("shell").get<std::string>()};
  } else {
    row.command = object.at("argv").get<std::vector<std::string>>();
    if (!row.command.empty()) row.command.insert(row.command.begin(), "--");
  }
  row.expect = object.at("expect");
  check_keys(row.expect, kExpectKeys, where);
  if (!row.expect.contains("exit")) throw std::runtime_error(where + ": no expected exit");
  return row;
}

}  // namespace

std::string Case::name() const {
  std::string text = row.id + "_" + user + "_" + place;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name(); }

std::vector<Case> load_cases(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  std::set<std::string> names;
  for (const auto& file : files) {
    std::ifstream stream(file);
    for (const auto& object : json::parse(stream)) {
      const Row row = parse_row(object, file);
      for (const auto& user : row.users) {
        for (const auto& place : row.places) {
          cases.push_back({row, user, place});
          if (!names.insert(cases.back().name()).second) throw std::runtime_error(file + ": row twice: " + row.id);
        }
      }
    }
  }
  return cases;
}

}  // namespace exechost::test
