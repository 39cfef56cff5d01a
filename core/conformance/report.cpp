#include "core/conformance/report.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/base/utf8.hpp"

namespace exechost::conformance {
namespace {

using nlohmann::json;

const char* name_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::passed: return "passed";
    case Verdict::Kind::failed: return "failed";
    case Verdict::Kind::unchecked: return "unchecked";
  }
  return "failed";
}

std::string xml(const std::string& text) {
  std::string escaped;
  for (const char letter : escape_for_terminal(to_valid_utf8(text))) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

}  // namespace

json to_json(const Report& report) {
  json claims = json::object();
  for (const std::string_view name : plan::capability_names())
    claims[std::string(name)] = plan::to_string(report.statement.capability(name).grade);
  json checks = json::array();
  for (const Finding& finding : report.findings) {
    checks.push_back({{"name", finding.name},
                      {"level", static_cast<int>(finding.level)},
                      {"title", finding.title},
                      {"result", name_of(finding.verdict.kind)},
                      {"why", to_valid_utf8(finding.verdict.why)},
                      {"ms", finding.took.count()}});
  }
  const auto level = report.level();
  return {{"backend", report.backend},
          {"library", to_valid_utf8(report.library)},
          {"level", level ? json(static_cast<int>(*level)) : json(nullptr)},
          {"passed", report.count(Verdict::Kind::passed)},
          {"failed", report.count(Verdict::Kind::failed)},
          {"unchecked", report.count(Verdict::Kind::unchecked)},
          {"claims", std::move(claims)},
          {"checks", std::move(checks)}};
}

std::string to_junit(const Report& report) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"conformance of {}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n",
      xml(report.backend), report.findings.size(), report.count(Verdict::Kind::failed),
      report.count(Verdict::Kind::unchecked));
  for (const Finding& finding : report.findings) {
    fmt::format_to(std::back_inserter(text), "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                   xml(report.backend), xml(finding.name), static_cast<double>(finding.took.count()) / 1000);
    switch (finding.verdict.kind) {
      case Verdict::Kind::passed: text += "/>\n"; break;
      case Verdict::Kind::failed:
        fmt::format_to(std::back_inserter(text), ">\n    <failure message=\"{}\"/>\n  </testcase>\n",
                       xml(finding.verdict.why));
        break;
      case Verdict::Kind::unchecked:
        fmt::format_to(std::back_inserter(text), ">\n    <skipped message=\"{}\"/>\n  </testcase>\n",
                       xml(finding.verdict.why));
        break;
    }
  }
  return text + "</testsuite>\n";
}

}  // namespace exechost::conformance
