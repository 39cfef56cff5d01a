#include "core/plan/capability.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace exechost::plan {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxText = 4096;  // bytes of one text in a statement or a probe's answer
constexpr std::size_t kMaxPlatforms = 32;

constexpr std::array<std::pair<Grade, std::string_view>, 5> kGrades{{{Grade::unsupported, "unsupported"},
                                                                     {Grade::advisory, "advisory"},
                                                                     {Grade::emulated, "emulated"},
                                                                     {Grade::provider, "provider"},
                                                                     {Grade::kernel, "kernel"}}};
constexpr std::array<std::pair<GuestEntry, std::string_view>, 3> kGuestEntries{
    {{GuestEntry::none, "none"}, {GuestEntry::control_fd, "control_fd"}, {GuestEntry::stream, "stream"}}};
constexpr std::array<std::string_view, 5> kBoundaries{"none", "process", "container", "vm", "remote_host"};
constexpr std::array<std::string_view, 2> kLocalities{"local", "remote"};

// Reads members of one JSON object; the first thing that is wrong is kept, everything after it is
// ignored.
class Reader {
 public:
  Reader(FailureKind kind, std::string backend, std::string what)
      : kind_(kind), backend_(std::move(backend)), what_(std::move(what)) {}

  bool ok() const { return !failure_; }
  Failure failure() const { return *failure_; }

  void reject(const std::string& where, const std::string& rule) {
    if (failure_) return;
    Failure failure;
    failure.kind = kind_;
    failure.phase = Phase::plan;
    failure.backend = backend_;
    failure.message = fmt::format("{} of backend \"{}\": {} {}", what_, backend_, where, rule);
    failure.hint = "`exechost schema capability` shows what is accepted";
    failure_ = std::move(failure);
  }

  bool object(const json& value, const std::string& where) {
    if (!value.is_object()) reject(where, fmt::format("must be an object, not {}", value.type_name()));
    return ok();
  }

  template <class Names>
  void only(const json& value, const std::string& where, const Names& names) {
    for (const auto& [name, member] : value.items()) {
      if (std::find(std::begin(names), std::end(names), name) == std::end(names)) {
        reject(where + "/" + name, "is not a known member");
      }
    }
  }

  std::string text(const json& value, const std::string& where, const char* name) {
    const auto found = value.find(name);
    if (found == value.end()) return {};
    const std::string pointer = where + "/" + name;
    if (!found->is_string()) {
      reject(pointer, fmt::format("must be a string, not {}", found->type_name()));
      return {};
    }
    auto result = found->template get<std::string>();
    if (result.size() > kMaxText) {
      reject(pointer, fmt::format("has {} bytes, at most {} are allowed", result.size(), kMaxText));
      return {};
    }
    return result;
  }

  template <class Names>
  std::string choice(const json& value, const std::string& where, const char* name, const Names& names) {
    std::string result = text(value, where, name);
    if (ok() && std::find(std::begin(names), std::end(names), result) == std::end(names)) {
      reject(where + "/" + name, fmt::format("is \"{}\", must be one of {}", result, fmt::join(names, ", ")));
    }
    return result;
  }

  std::map<std::string, Capability, std::less<>> capabilities(const json& document) {
    std::map<std::string, Capability, std::less<>> result;
    const auto found = document.find("capabilities");
    if (found == document.end() || !object(*found, "/capabilities")) return result;
    only(*found, "/capabilities", capability_names());
    for (const auto& [name, value] : found->items()) {
      const std::string where = "/capabilities/" + name;
      if (!ok() || !object(value, where)) return result;
      only(value, where, std::array<std::string_view, 3>{"grade", "by", "evidence"});
      Capability capability;
      capability.grade = grade_from(text(value, where, "grade"));
      capability.by = text(value, where, "by");
      capability.evidence = text(value, where, "evidence");
      result.emplace(name, std::move(capability));
    }
    return result;
  }

 private:
  FailureKind kind_;
  std::string backend_;
  std::string what_;
  std::optional<Failure> failure_;
};

std::vector<std::string> read_platforms(Reader& reader, const json& document) {
  std::vector<std::string> platforms;
  const auto found = document.find("platforms");
  if (found == document.end()) return platforms;
  if (!found->is_array() || found->size() > kMaxPlatforms) {
    reader.reject("/platforms", fmt::format("must be an array of at most {} strings", kMaxPlatforms));
    return platforms;
  }
  for (const json& platform : *found) {
    if (!platform.is_string() || platform.get_ref<const std::string&>().size() > kMaxText) {
      reader.reject("/platforms", "must hold short strings only");
      return platforms;
    }
    platforms.push_back(platform.get<std::string>());
  }
  return platforms;
}

std::string_view to_string(GuestEntry entry) {
  for (const auto& [value, name] : kGuestEntries) {
    if (value == entry) return name;
  }
  return "none";
}

}  // namespace

std::string_view to_string(Grade grade) {
  for (const auto& [value, name] : kGrades) {
    if (value == grade) return name;
  }
  return "unsupported";
}

Grade grade_from(std::string_view name) {
  for (const auto& [value, known] : kGrades) {
    if (known == name) return value;
  }
  return Grade::unsupported;
}

const std::vector<std::string_view>& capability_names() {
  static const std::vector<std::string_view> names{
      "files", "syscalls", "processes", "users", "network.none", "network.filtered", "network.full",
      "image", "cpu",      "memory",    "disk",  "pids",         "persistent",       "stdin",
      "pty",   "signals",  "resize",    "copy",  "attach",       "snapshot",         "tree_kill"};
  return names;
}

Capability Statement::capability(std::string_view name) const {
  if (const auto found = capabilities.find(name); found != capabilities.end()) return found->second;
  Capability missing;
  missing.evidence = fmt::format("backend \"{}\" does not state \"{}\"", backend, name);
  return missing;
}

Result<Statement> parse_statement(std::string_view backend, const json& document) {
  Reader reader(FailureKind::unavailable, std::string(backend), "the capability statement");
  if (!reader.object(document, "the document")) return unexpected(reader.failure());
  reader.only(document, "",
              std::array<std::string_view, 6>{"backend", "boundary", "locality", "guest", "platforms", "capabilities"});

  Statement statement;
  statement.backend = std::string(backend);
  if (document.contains("backend") && reader.text(document, "", "backend") != backend) {
    reader.reject("/backend", "names another backend");
  }
  statement.boundary = reader.choice(document, "", "boundary", kBoundaries);
  statement.locality = reader.choice(document, "", "locality", kLocalities);
  if (document.contains("guest")) {
    std::array<std::string_view, kGuestEntries.size()> names;
    std::transform(kGuestEntries.begin(), kGuestEntries.end(), names.begin(), [](const auto& e) { return e.second; });
    const std::string entry = reader.choice(document, "", "guest", names);
    for (const auto& [value, name] : kGuestEntries) {
      if (name == entry) statement.guest = value;
    }
  }
  statement.platforms = read_platforms(reader, document);
  statement.capabilities = reader.capabilities(document);
  if (!reader.ok()) return unexpected(reader.failure());
  return statement;
}

Result<Probe> parse_probe(std::string_view backend, const json& document) {
  Reader reader(FailureKind::protocol_error, std::string(backend), "the probe's answer");
  if (!reader.object(document, "the document")) return unexpected(reader.failure());
  reader.only(document, "", std::array<std::string_view, 4>{"ready", "reason", "hint", "capabilities"});
  Probe probe;
  const auto ready = document.find("ready");
  if (ready == document.end() || !ready->is_boolean()) {
    reader.reject("/ready", "must be true or false");
  } else {
    probe.ready = ready->get<bool>();
  }
  probe.reason = reader.text(document, "", "reason");
  probe.hint = reader.text(document, "", "hint");
  probe.capabilities = reader.capabilities(document);
  if (!reader.ok()) return unexpected(reader.failure());
  return probe;
}

Statement combine(const Statement& statement, const Probe& probe) {
  Statement combined = statement;
  for (auto& [name, capability] : combined.capabilities) {
    const auto found = probe.capabilities.find(name);
    if (found == probe.capabilities.end()) {
      capability.grade = Grade::unsupported;
      capability.evidence = !probe.ready && !probe.reason.empty() ? probe.reason : "not confirmed by the probe";
      continue;
    }
    capability.grade = std::min(capability.grade, found->second.grade);
    if (!found->second.by.empty()) capability.by = found->second.by;
    if (!found->second.evidence.empty()) capability.evidence = found->second.evidence;
  }
  return combined;
}

json to_json(const Statement& statement) {
  json capabilities = json::object();
  for (const auto& [name, capability] : statement.capabilities) {
    json value{{"grade", std::string(to_string(capability.grade))}};
    if (!capability.by.empty()) value["by"] = capability.by;
    if (!capability.evidence.empty()) value["evidence"] = capability.evidence;
    capabilities[name] = std::move(value);
  }
  return {{"backend", statement.backend},     {"boundary", statement.boundary},
          {"locality", statement.locality},   {"guest", std::string(to_string(statement.guest))},
          {"platforms", statement.platforms}, {"capabilities", std::move(capabilities)}};
}

}  // namespace exechost::plan
