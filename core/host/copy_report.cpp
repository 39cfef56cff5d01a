// The JSON forms of files.hpp.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/base64.hpp"
#include "core/base/utf8.hpp"
#include "core/execution/result_json.hpp"
#include "exechost/files.hpp"

namespace exechost {
namespace {

using nlohmann::json;

// Names are bytes: one that is no text has both forms.
void add_path(json& object, const std::string& name, const std::string& path) {
  object[name] = to_valid_utf8(path);
  if (!is_valid_utf8(path)) object[name + "_base64"] = base64_encode(path);
}

json to_json(const std::vector<CopySkipped>& skipped) {
  json list = json::array();
  for (const CopySkipped& entry : skipped) {
    json object{{"reason", entry.reason}};
    add_path(object, "path", entry.path);
    list.push_back(std::move(object));
  }
  return list;
}

json to_json(const Change& change) {
  json object{{"change", to_string(change.kind)}, {"type", change.type}};
  add_path(object, "path", change.path);
  if (!change.old_type.empty()) object["old_type"] = change.old_type;
  if (change.kind == ChangeKind::deleted) return object;
  object["mode"] = fmt::format("{:04o}", change.mode);
  if (change.type == "file") object["size"] = change.size;
  if (change.type == "link") add_path(object, "target", change.target);
  return object;
}

}  // namespace

std::string CopyResult::to_json() const {
  return json{{"schema", 1},
              {"status", to_string(status)},
              {"files", files},
              {"folders", folders},
              {"links", links},
              {"bytes", bytes},
              {"skipped", exechost::to_json(skipped)},
              {"skipped_count", skipped_count},
              {"duration_ms", duration.count()},
              {"warnings", warnings},
              {"failure", failure ? execution::to_json(*failure) : json(nullptr)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string ChangeList::to_json() const {
  json list = json::array();
  for (const Change& change : changes) list.push_back(exechost::to_json(change));
  json object{{"schema", 1}, {"changes", std::move(list)}, {"skipped", exechost::to_json(skipped)}};
  add_path(object, "workspace", workspace);
  add_path(object, "copy", copy);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string ApplyResult::to_json() const {
  json list = json::array();
  for (const AppliedChange& applied : changes) {
    json object = exechost::to_json(applied.change);
    object["outcome"] = to_string(applied.outcome);
    object["reason"] = applied.reason.empty() ? json(nullptr) : json(to_valid_utf8(applied.reason));
    list.push_back(std::move(object));
  }
  return json{{"schema", 1}, {"changes", std::move(list)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace exechost
