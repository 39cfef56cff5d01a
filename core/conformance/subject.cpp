#include "core/conformance/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/host/inspect.hpp"
#include "core/node/statement.hpp"

namespace exechost::conformance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kShownBytes = 120;

Failure no_subject(FailureKind kind, std::string message, std::string hint) {
  Failure failure;
  failure.kind = kind;
  failure.phase = Phase::plan;
  failure.step = "conformance";
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  return failure;
}

}  // namespace

Result<std::unique_ptr<Subject>> Subject::make(SubjectOptions options) {
  auto scratch = Scratch::make();
  if (!scratch) return unexpected(scratch.error());
  std::unique_ptr<Subject> subject(new Subject(std::move(options), std::move(*scratch)));
  subject->id_ = subject->is_node_tier() ? plan::kLocalBackend : fs::path(subject->options_.library).stem().string();
  if (auto written = subject->write_settings(json::object()); !written) return unexpected(written.error());
  if (auto inspected = subject->inspect(); !inspected) return unexpected(inspected.error());
  if (auto written = subject->write_settings(subject->accepted_settings()); !written)
    return unexpected(written.error());
  subject->host_ = std::make_unique<ExecHost>(subject->host_options());
  return subject;
}

HostOptions Subject::host_options() const {
  HostOptions options;
  options.keeper = KeeperPlacement::child;
  options.workspace = scratch_.workspace();
  options.environment = scratch_.environment();
  options.system_config_dir = scratch_.root() + "/config/system";  // not there: nobody's settings but the kit's
  options.user_config_dir = scratch_.user_config();
  options.prefix = options_.prefix;
  return options;
}

Result<void> Subject::inspect() {
  const auto backends = host::inspect_backends(host_options(), Request{}, true);
  if (!backends) return unexpected(backends.error());
  const auto found = std::find_if(backends->begin(), backends->end(), [this](const host::BackendInspection& backend) {
    return is_node_tier() ? backend.tier == "node" : backend.found.library == options_.library;
  });
  if (found == backends->end()) {
    const bool taken = std::any_of(backends->begin(), backends->end(),
                                   [this](const host::BackendInspection& backend) { return backend.found.id == id_; });
    return unexpected(no_subject(
        FailureKind::unavailable,
        fmt::format("\"{}\" is not found as a backend", escape_for_terminal(options_.library)),
        taken ? fmt::format("ExecHost's own plugin folder has a backend \"{}\" already; give this one another id", id_)
              : "give the path of the library; its manifest is beside it, with the same name"));
  }
  if (found->found.problem) return unexpected(*found->found.problem);
  if (found->probe_failure) return unexpected(*found->probe_failure);
  if (!found->probe || !found->statement)
    return unexpected(no_subject(FailureKind::unavailable, "it was not probed", {}));
  if (!found->probe->ready) {
    return unexpected(no_subject(FailureKind::unavailable,
                                 fmt::format("backend \"{}\" is not ready: {}", id_, found->probe->reason),
                                 found->probe->hint));
  }
  statement_ = *found->statement;
  manifest_ = is_node_tier() ? node::statement() : found->found.manifest->statement;
  return {};
}

bool Subject::claims(std::string_view capability) const {
  return statement_.capability(capability).grade >= plan::Grade::emulated;
}

std::string Subject::not_claimed(std::string_view capability) const {
  const plan::Grade stated = manifest_.capability(capability).grade;
  const plan::Grade held = statement_.capability(capability).grade;
  if (stated == plan::Grade::unsupported) return fmt::format("{} is not claimed", capability);
  if (held == plan::Grade::unsupported)
    return fmt::format("{} is claimed by the manifest and not confirmed by the probe", capability);
  return fmt::format("{} is claimed as {}: nobody enforces it", capability, plan::to_string(held));
}

Result<void> Subject::write_settings(json settings) const {
  if (is_node_tier()) {
    settings["admission"] = {{"node", {{"security", "full"}, {"ask", "off"}}}};  // nobody is asked what the kit does
  } else {
    settings["plugins"] = {{"directories", {fs::path(options_.library).parent_path().string()}}};
    settings["backends"] = {{id_, options_.settings}};
  }
  const std::string file = scratch_.user_config() + "/settings.json";
  if (auto written = write_file(file, settings.dump(2)); !written) return written;
  std::error_code ignored;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, ignored);
  return {};
}

// What the backend can't do is accepted, so that the rest can be checked.
json Subject::accepted_settings() const {
  json accepted = json::array();
  if (!claims("files")) accepted.push_back("filesystem");
  const char* const network = claims("network.none") ? "none" : "full";
  if (!claims("network.none") && !claims("network.full")) accepted.push_back("network");
  return {{"backend", id_},
          {"fallback", json::array()},
          {"on_unavailable", "closed"},
          {"network", {{"mode", network}}},
          {"best_effort", accepted},
          {"session", {{"persistent", false}}}};
}

std::string Subject::private_file() const {
  // Without files of its own /tmp is this machine's.
  return shares_workspace() && !claims("files") ? scratch_.workspace() + "/conformance" : "/tmp/conformance";
}

Request Subject::request(std::vector<std::string> argv) const {
  Request request;
  request.argv = std::move(argv);
  request.backend = id_;
  request.timeout = options_.time;
  return request;
}

Request Subject::script(const std::string& text) const {
  Request request = this->request({});
  request.shell = text;
  return request;
}

void Subject::add_settings(Request& request, const json& settings) {
  json merged = request.settings_json.empty() ? json::object() : json::parse(request.settings_json);
  merged.merge_patch(settings);
  request.settings_json = merged.dump();
}

Result<LiveCommand> Subject::start(const Request& request) {
  auto execution = host_->start(request);
  if (!execution) return unexpected(execution.error());
  return LiveCommand(std::move(*execution), options_.stop);
}

Result<std::unique_ptr<KeeperLink>> Subject::link() const {
  Request environment = request({"/bin/true"});
  if (claims("persistent")) add_settings(environment, {{"session", {{"persistent", true}}}});
  return KeeperLink::make(host_options(), environment, options_.stop);
}

std::string in_words(const ExecResult& result) {
  switch (result.status) {
    case Status::exited: return fmt::format("exited with {}", result.exit_code);
    case Status::signaled: return fmt::format("ended by signal {}", result.signal_number);
    case Status::timed_out: return "timed out";
    case Status::cancelled: return "cancelled";
    case Status::resource_exhausted: return "ended by a limit";
    case Status::failed: break;
  }
  if (!result.failure) return "failed without a reason";
  return fmt::format("failed: {} in phase {}: {}", to_string(result.failure->kind), to_string(result.failure->phase),
                     escape_for_terminal(result.failure->message));
}

std::string shown(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kShownBytes);
  return fmt::format("\"{}\"{}", escape_for_terminal(to_valid_utf8(std::string(head))),
                     bytes.size() > kShownBytes ? fmt::format("… ({} bytes)", bytes.size()) : "");
}

}  // namespace exechost::conformance
