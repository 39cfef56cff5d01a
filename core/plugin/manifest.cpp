#include "core/plugin/manifest.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "core/plugin/failures.hpp"
#include "core/plugin/trust.hpp"
#include "core/settings/json_schema.hpp"
#include "core/settings/strict_json.hpp"
#include "exechost/plugin.h"

namespace exechost::plugin {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxManifest = 64UL * 1024;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxVersion = 64;
constexpr std::size_t kMaxSummary = 512;

struct Member {
  std::string_view name;
  bool required;
};
constexpr std::array kMembers{Member{"schema", true},          Member{"id", true},       Member{"version", true},
                              Member{"summary", true},         Member{"abi", true},      Member{"capabilities", true},
                              Member{"settings_schema", true}, Member{"license", false}, Member{"vendor", false},
                              Member{"homepage", false}};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// MAJOR.MINOR.PATCH, then anything printable after "-" or "+".
bool is_version(std::string_view version) {
  if (version.size() > kMaxVersion) return false;
  for (int part = 0; part < 3; ++part) {
    const auto digits =
        static_cast<std::size_t>(std::find_if_not(version.begin(), version.end(), is_digit) - version.begin());
    if (digits == 0 || digits > 9) return false;
    version.remove_prefix(digits);
    if (part == 2) break;
    if (version.empty() || version.front() != '.') return false;
    version.remove_prefix(1);
  }
  return version.empty() || ((version.front() == '-' || version.front() == '+') && version.size() > 1 &&
                             std::all_of(version.begin(), version.end(), [](char c) { return c > ' ' && c < 0x7f; }));
}

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

// Reads the document's members; each function says what is wrong, or nothing.
class Reader {
 public:
  Reader(const json& document, std::string path) : document_(document), path_(std::move(path)) {}

  using Problem = std::optional<std::string>;

  Problem read(Manifest& manifest) const {
    if (!document_.is_object()) return "is not a JSON object";
    if (auto problem = check_members()) return problem;
    if (document_["schema"] != 1) return "has another \"schema\" than 1";
    if (auto problem = read_text("id", kMaxId, manifest.id)) return problem;
    if (!is_id(manifest.id)) {
      return fmt::format("has the id \"{}\": an id is a lower-case letter and at most {} more of a-z 0-9 - _",
                         manifest.id, kMaxId - 1);
    }
    if (manifest.id != stem_of(path_)) {
      return fmt::format("has the id \"{}\", which is not the file's name", manifest.id);
    }
    if (auto problem = read_text("version", kMaxVersion, manifest.version)) return problem;
    if (!is_version(manifest.version)) {
      return fmt::format("has the version \"{}\": it has to be like 1.2.3 or 1.2.3-rc1", manifest.version);
    }
    if (auto problem = read_text("summary", kMaxSummary, manifest.summary)) return problem;
    for (const char* const name : {"license", "vendor", "homepage"}) {
      std::string ignored;
      if (!document_.contains(name)) continue;
      if (auto problem = read_text(name, kMaxSummary, ignored)) return problem;
    }
    if (auto problem = read_abi(manifest)) return problem;
    return read_settings(manifest);
  }

 private:
  Problem check_members() const {
    for (const auto& [name, value] : document_.items()) {
      const auto known = std::find_if(kMembers.begin(), kMembers.end(),
                                      [&name = name](const Member& member) { return member.name == name; });
      if (known == kMembers.end()) return fmt::format("has an unknown member \"{}\"", name);
    }
    for (const Member& member : kMembers) {
      if (member.required && !document_.contains(member.name)) return fmt::format("has no \"{}\"", member.name);
    }
    return std::nullopt;
  }

  Problem read_text(const char* name, std::size_t limit, std::string& out) const {
    const json& value = document_[name];
    if (!value.is_string()) return fmt::format("has a \"{}\" that is not a string", name);
    out = value.get<std::string>();
    if (out.empty() || out.size() > limit)
      return fmt::format("has a \"{}\" of {} bytes: 1 to {} are allowed", name, out.size(), limit);
    return std::nullopt;
  }

  Problem read_abi(Manifest& manifest) const {
    const json& abi = document_["abi"];
    if (!abi.is_object() || abi.size() != 2) return R"(has an "abi" that is not {"major":N,"minor":N})";
    for (const auto& [name, target] :
         {std::pair{"major", &manifest.abi_major}, std::pair{"minor", &manifest.abi_minor}}) {
      if (!abi.contains(name) || !abi[name].is_number_unsigned() || abi[name].get<std::uint64_t>() > 0xffff) {
        return fmt::format(R"(has an "abi" whose "{}" is not a number from 0 to 65535)", name);
      }
      *target = abi[name].get<unsigned>();
    }
    if (manifest.abi_major != EH_ABI_MAJOR) {
      return fmt::format("is for plugin ABI {}, this ExecHost has {}", manifest.abi_major, EH_ABI_MAJOR);
    }
    return std::nullopt;
  }

  Problem read_settings(Manifest& manifest) const {
    const json& schema = document_["settings_schema"];
    if (!schema.is_object() || schema.value("type", json()) != "object") {
      return R"(has a "settings_schema" that is not a JSON Schema with "type": "object")";
    }
    auto compiled = settings::JsonSchema::compile(schema);
    if (!compiled) return "has a \"settings_schema\" with an error: " + settings::describe(compiled.error());
    manifest.settings_schema = schema;
    return std::nullopt;
  }

  const json& document_;
  std::string path_;
};

Result<std::string> read_text_file(int fd, const std::string& path) {
  std::string text(kMaxManifest + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = ::pread(fd, text.data() + length, text.size() - length, static_cast<off_t>(length));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      return unexpected(refused(path, "can't be read: " + std::generic_category().message(error), {}, error));
    }
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
  }
  text.resize(length);
  return text;
}

constexpr const char* kHint = "docs/writing-a-backend.md shows a complete manifest";

}  // namespace

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxId && is_lower(id.front()) &&
         std::all_of(id.begin(), id.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '_'; });
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& path) {
  if (text.size() > kMaxManifest) {
    return unexpected(refused(path, fmt::format("is larger than a manifest may be ({} bytes)", kMaxManifest)));
  }
  settings::JsonLimits limits;
  limits.max_bytes = kMaxManifest;
  limits.max_depth = kMaxDepth;
  const Result<json> document = settings::parse_json_strict(text, path, limits);
  if (!document) {
    Failure failure = document.error();
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::plan;
    return unexpected(std::move(failure));
  }
  Manifest manifest;
  if (const auto problem = Reader(*document, path).read(manifest)) return unexpected(refused(path, *problem, kHint));
  Result<plan::Statement> statement = plan::parse_statement(manifest.id, (*document)["capabilities"]);
  if (!statement) {
    Failure failure = statement.error();
    failure.kind = FailureKind::unavailable;
    failure.message = "\"" + path + "\": " + failure.message;
    return unexpected(std::move(failure));
  }
  manifest.statement = std::move(*statement);
  return manifest;
}

Result<Manifest> read_manifest(const std::string& path) {
  const Result<TrustedFile> file = open_trusted(path);
  if (!file) {
    Failure failure = file.error();
    if (failure.error_number == ENOENT) failure.hint = "a plugin is NAME.so with its manifest NAME.json beside it";
    return unexpected(std::move(failure));
  }
  const Result<std::string> text = read_text_file(file->fd.get(), path);
  if (!text) return unexpected(text.error());
  return parse_manifest(*text, path);
}

}  // namespace exechost::plugin
