#include "core/keeper/codec.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "core/keeper/failures.hpp"

namespace exechost::keeper {
namespace {

using nlohmann::json;

// Caught where a message is decoded; never leaves this file.
class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

const json& member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw DecodeError(fmt::format("member \"{}\" is missing", name));
  return *found;
}

[[noreturn]] void wrong(const char* name, const char* rule) {
  throw DecodeError(fmt::format("\"{}\" is not {}", name, rule));
}

template <class Integer>
Integer integer(const json& value, const char* name) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) return static_cast<Integer>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if constexpr (std::is_signed_v<Integer>) {
      if (number >= std::numeric_limits<Integer>::min()) return static_cast<Integer>(number);
    }
  }
  wrong(name, "an integer in range");
}

template <class Integer>
Integer integer_at(const json& object, const char* name) {
  return integer<Integer>(member(object, name), name);
}

bool flag_at(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_boolean()) wrong(name, "true or false");
  return value.get<bool>();
}

std::string text_at(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_string()) wrong(name, "a text");
  return value.get<std::string>();
}

const json& array_at(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_array()) wrong(name, "an array");
  return value;
}

// Arguments, environment and paths are bytes, not text.
json bytes(const std::string& text) { return json::binary({text.begin(), text.end()}); }

std::string bytes_of(const json& value, const char* name) {
  if (!value.is_binary()) wrong(name, "a byte string");
  const auto& binary = value.get_binary();
  return {binary.begin(), binary.end()};
}

json bytes_list(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const auto& text : texts) list.push_back(bytes(text));
  return list;
}

std::vector<std::string> bytes_list_at(const json& object, const char* name) {
  std::vector<std::string> texts;
  for (const auto& value : array_at(object, name)) texts.push_back(bytes_of(value, name));
  return texts;
}

json encode_plugin(const PluginChoice& plugin) {
  return {{"id", plugin.id},
          {"library", bytes(plugin.library)},
          {"sha256", plugin.pinned_sha256},
          {"settings", plugin.settings}};
}

PluginChoice decode_plugin(const json& object) {
  const json& value = member(object, "plugin");
  if (!value.is_object()) wrong("plugin", "an object");
  PluginChoice plugin;
  plugin.id = text_at(value, "id");
  plugin.library = bytes_of(member(value, "library"), "library");
  plugin.pinned_sha256 = text_at(value, "sha256");
  plugin.settings = member(value, "settings");
  return plugin;
}

json encode_confinement(const plan::Confinement& confinement) {
  json rules = json::array();
  for (const auto& rule : confinement.landlock_rules)
    rules.push_back({{"path", bytes(rule.path)}, {"writable", rule.writable}});
  json limits = json::array();
  for (const auto& limit : confinement.rlimits)
    limits.push_back({{"resource", limit.resource}, {"value", limit.value}});
  json checks = json::array();
  for (const auto& check : confinement.view_checks) {
    checks.push_back(
        {{"path", bytes(check.path)}, {"device", check.device}, {"inode", check.inode}, {"same", check.same}});
  }
  return {{"none", confinement.none},         {"seccomp_profile", confinement.seccomp_profile},
          {"landlock", confinement.landlock}, {"landlock_rules", std::move(rules)},
          {"rlimits", std::move(limits)},     {"view_checks", std::move(checks)}};
}

plan::Confinement decode_confinement(const json& object) {
  plan::Confinement confinement;
  confinement.none = flag_at(object, "none");
  confinement.seccomp_profile = text_at(object, "seccomp_profile");
  confinement.landlock = flag_at(object, "landlock");
  for (const auto& rule : array_at(object, "landlock_rules")) {
    confinement.landlock_rules.push_back({bytes_of(member(rule, "path"), "path"), flag_at(rule, "writable")});
  }
  for (const auto& limit : array_at(object, "rlimits")) {
    confinement.rlimits.push_back({integer_at<int>(limit, "resource"), integer_at<std::uint64_t>(limit, "value")});
  }
  for (const auto& check : array_at(object, "view_checks")) {
    confinement.view_checks.push_back({bytes_of(member(check, "path"), "path"),
                                       integer_at<std::uint64_t>(check, "device"),
                                       integer_at<std::uint64_t>(check, "inode"), flag_at(check, "same")});
  }
  return confinement;
}

json encode_session(const SessionChoice& session) {
  json place = json::array();
  json writable = json::array();
  for (const std::string& path : session.writable) writable.push_back(bytes(path));
  for (const auto& [name, part] : session.place) {
    place.push_back({{"name", bytes(name)}, {"value", bytes(part.value)}, {"shown", bytes(part.shown)}});
  }
  return {{"name", bytes(session.name)},
          {"owner", bytes(session.owner)},
          {"place", std::move(place)},
          {"idle_timeout_ms", session.idle_timeout.count()},
          {"max_lifetime_ms", session.max_lifetime.count()},
          {"recreate", session.recreate},
          {"join", session.join},
          {"workspace", bytes(session.workspace)},
          {"writable", std::move(writable)}};
}

SessionChoice decode_session(const json& object) {
  SessionChoice session;
  session.name = bytes_of(member(object, "name"), "name");
  session.owner = bytes_of(member(object, "owner"), "owner");
  for (const auto& part : array_at(object, "place")) {
    session.place[bytes_of(member(part, "name"), "name")] = {bytes_of(member(part, "value"), "value"),
                                                             bytes_of(member(part, "shown"), "shown")};
  }
  session.idle_timeout = std::chrono::milliseconds(integer_at<std::int64_t>(object, "idle_timeout_ms"));
  session.max_lifetime = std::chrono::milliseconds(integer_at<std::int64_t>(object, "max_lifetime_ms"));
  session.recreate = flag_at(object, "recreate");
  session.join = flag_at(object, "join");
  session.workspace = bytes_of(member(object, "workspace"), "workspace");
  for (const auto& path : array_at(object, "writable")) session.writable.push_back(bytes_of(path, "writable"));
  return session;
}

json encode_background(const BackgroundChoice& background) {
  return {{"id", bytes(background.id)},
          {"input", background.input},
          {"run_until_ns", background.run_until_ns},
          {"kill_grace_ms", background.kill_grace.count()}};
}

BackgroundChoice decode_background(const json& object) {
  return {bytes_of(member(object, "id"), "id"), flag_at(object, "input"),
          integer_at<std::int64_t>(object, "run_until_ns"),
          std::chrono::milliseconds(integer_at<std::int64_t>(object, "kill_grace_ms"))};
}

json encode_shell(const std::optional<plan::ShellRun>& shell) {
  if (!shell) return nullptr;
  return {{"script", bytes(shell->script)},
          {"cwd_given", shell->cwd_given},
          {"given_variables", bytes_list(shell->given_variables)},
          {"refuse_when_busy", shell->refuse_when_busy}};
}

std::optional<plan::ShellRun> decode_shell(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_object()) wrong("shell", "an object or null");
  plan::ShellRun shell;
  shell.script = bytes_of(member(value, "script"), "script");
  shell.cwd_given = flag_at(value, "cwd_given");
  shell.given_variables = bytes_list_at(value, "given_variables");
  shell.refuse_when_busy = flag_at(value, "refuse_when_busy");
  return shell;
}

// Most messages are about nothing that failed.
json encode_failure(const Failure& failure) {
  if (failure == Failure{}) return nullptr;
  return {{"kind", to_string(failure.kind)},
          {"phase", to_string(failure.phase)},
          {"message", bytes(failure.message)},
          {"hint", bytes(failure.hint)},
          {"backend", failure.backend},
          {"errno", failure.error_number},
          {"step", failure.step},
          {"code", bytes(failure.code)},
          {"request_id", bytes(failure.request_id)}};
}

Failure decode_failure(const json& object) {
  const json& value = member(object, "failure");
  if (value.is_null()) return {};
  if (!value.is_object()) wrong("failure", "an object or null");
  Failure failure;
  failure.kind = failure_kind_from(text_at(value, "kind"));
  failure.phase = phase_from(text_at(value, "phase"), Phase::run);
  failure.message = bytes_of(member(value, "message"), "message");
  failure.hint = bytes_of(member(value, "hint"), "hint");
  failure.backend = text_at(value, "backend");
  failure.error_number = integer_at<int>(value, "errno");
  failure.step = text_at(value, "step");
  failure.code = bytes_of(member(value, "code"), "code");
  failure.request_id = bytes_of(member(value, "request_id"), "request_id");
  return failure;
}

constexpr std::array kReplyNames{"ok", "failed", "timed_out", "cancelled"};
constexpr std::array kEventNames{"confined", "started", "exited", "gone", "failed"};
constexpr std::array kStartedNames{"no", "yes", "unknown"};
constexpr std::array kSessionsNames{"list", "stop", "await", "read", "write", "signal"};

template <class Enum, std::size_t Size>
Enum enum_at(const json& object, const char* name, const std::array<const char*, Size>& names) {
  const std::string text = text_at(object, name);
  for (std::size_t index = 0; index < Size; ++index) {
    if (text == names[index]) return static_cast<Enum>(index);
  }
  wrong(name, "one of the known names");
}

template <std::size_t Size, class Enum>
const char* name_of(const std::array<const char*, Size>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

struct HostEncoder {
  json operator()(const ProbeRequest& request) const {
    return {{"type", "probe"}, {"plugin", encode_plugin(request.plugin)}, {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const OpenRequest& request) const {
    return {{"type", "open"},
            {"plugin", encode_plugin(request.plugin)},
            {"document", request.document},
            {"serve", request.serve},
            {"stream", request.stream},
            {"lease_ms", request.lease_ms},
            {"confinement", request.serve ? encode_confinement(request.confinement) : json(nullptr)},
            {"session", request.session ? encode_session(*request.session) : json(nullptr)},
            {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const SpawnRequest& request) const {
    return {{"type", "spawn"},
            {"environment", request.environment},
            {"argv", bytes_list(request.argv)},
            {"variables", bytes_list(request.variables)},
            {"cwd", bytes(request.cwd)},
            {"tty", request.tty},
            {"use_guest", request.use_guest},
            {"builtin", request.builtin},
            {"confinement", encode_confinement(request.confinement)},
            {"background", request.background ? encode_background(*request.background) : json(nullptr)},
            {"shell", encode_shell(request.shell)},
            {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const CloseRequest& request) const {
    return {{"type", "close"},
            {"environment", request.environment},
            {"purge", request.purge},
            {"keep", request.keep},
            {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const ListRequest& request) const {
    return {{"type", "list"}, {"plugin", encode_plugin(request.plugin)}, {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const ReapRequest& request) const {
    return {{"type", "reap"},
            {"plugin", encode_plugin(request.plugin)},
            {"entry", request.entry},
            {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const SessionsRequest& request) const {
    return {{"type", "sessions"},
            {"what", name_of(kSessionsNames, request.what)},
            {"name", bytes(request.name)},
            {"owner", bytes(request.owner)},
            {"command", bytes(request.command)},
            {"purge", request.purge},
            {"stream", request.stream},
            {"offset", request.offset},
            {"out_seen", request.out_seen},
            {"err_seen", request.err_seen},
            {"number", request.number},
            {"data", bytes(request.data)},
            {"deadline_ns", request.deadline_ns}};
  }
  json operator()(const CancelMessage& /*message*/) const { return {{"type", "cancel"}}; }
  json operator()(const SignalMessage& message) const { return {{"type", "signal"}, {"number", message.number}}; }
};

SpawnRequest decode_spawn(const json& body) {
  SpawnRequest request;
  request.environment = integer_at<std::uint64_t>(body, "environment");
  request.argv = bytes_list_at(body, "argv");
  request.variables = bytes_list_at(body, "variables");
  request.cwd = bytes_of(member(body, "cwd"), "cwd");
  request.tty = flag_at(body, "tty");
  request.use_guest = flag_at(body, "use_guest");
  request.builtin = flag_at(body, "builtin");
  request.confinement = decode_confinement(member(body, "confinement"));
  if (const json& background = member(body, "background"); !background.is_null()) {
    request.background = decode_background(background);
  }
  request.shell = decode_shell(member(body, "shell"));
  request.deadline_ns = integer_at<std::int64_t>(body, "deadline_ns");
  return request;
}

OpenRequest decode_open(const json& body) {
  OpenRequest request;
  request.plugin = decode_plugin(body);
  request.document = member(body, "document");
  request.serve = flag_at(body, "serve");
  request.stream = flag_at(body, "stream");
  request.lease_ms = integer_at<std::uint32_t>(body, "lease_ms");
  if (request.serve) request.confinement = decode_confinement(member(body, "confinement"));
  if (const json& session = member(body, "session"); !session.is_null()) request.session = decode_session(session);
  request.deadline_ns = integer_at<std::int64_t>(body, "deadline_ns");
  return request;
}

CloseRequest decode_close(const json& body) {
  CloseRequest request;
  request.environment = integer_at<std::uint64_t>(body, "environment");
  request.purge = flag_at(body, "purge");
  request.keep = flag_at(body, "keep");
  request.deadline_ns = integer_at<std::int64_t>(body, "deadline_ns");
  return request;
}

struct KeeperEncoder {
  json operator()(const Reply& reply) const {
    return {{"type", "reply"},
            {"status", name_of(kReplyNames, reply.status)},
            {"failure", encode_failure(reply.failure)},
            {"body", reply.body}};
  }
  json operator()(const ExecutionEvent& event) const {
    return {{"type", "event"},
            {"kind", name_of(kEventNames, event.kind)},
            {"landlock_abi", event.landlock_abi},
            {"seccomp", event.seccomp},
            {"wait_status", event.wait_status},
            {"user_time_us", event.usage.user_time.count()},
            {"system_time_us", event.usage.system_time.count()},
            {"max_rss_bytes", event.usage.max_rss_bytes},
            {"failure", encode_failure(event.failure)},
            {"was_started", name_of(kStartedNames, event.was_started)},
            {"warnings", bytes_list(event.warnings)}};
  }
};

Reply decode_reply(const json& body) {
  Reply reply;
  reply.status = enum_at<ReplyStatus>(body, "status", kReplyNames);
  reply.failure = decode_failure(body);
  reply.body = member(body, "body");
  return reply;
}

ExecutionEvent decode_event(const json& body) {
  ExecutionEvent event;
  event.kind = enum_at<ExecutionEvent::Kind>(body, "kind", kEventNames);
  event.landlock_abi = integer_at<int>(body, "landlock_abi");
  event.seccomp = flag_at(body, "seccomp");
  event.wait_status = integer_at<int>(body, "wait_status");
  event.usage.user_time = std::chrono::microseconds(integer_at<std::int64_t>(body, "user_time_us"));
  event.usage.system_time = std::chrono::microseconds(integer_at<std::int64_t>(body, "system_time_us"));
  event.usage.max_rss_bytes = integer_at<std::uint64_t>(body, "max_rss_bytes");
  event.failure = decode_failure(body);
  event.was_started = enum_at<Started>(body, "was_started", kStartedNames);
  event.warnings = bytes_list_at(body, "warnings");
  return event;
}

SessionsRequest decode_sessions(const json& body) {
  SessionsRequest request;
  request.what = enum_at<SessionsRequest::What>(body, "what", kSessionsNames);
  request.name = bytes_of(member(body, "name"), "name");
  request.owner = bytes_of(member(body, "owner"), "owner");
  request.command = bytes_of(member(body, "command"), "command");
  request.purge = flag_at(body, "purge");
  request.stream = integer_at<int>(body, "stream");
  request.offset = integer_at<std::uint64_t>(body, "offset");
  request.out_seen = integer_at<std::uint64_t>(body, "out_seen");
  request.err_seen = integer_at<std::uint64_t>(body, "err_seen");
  request.number = integer_at<int>(body, "number");
  request.data = bytes_of(member(body, "data"), "data");
  request.deadline_ns = integer_at<std::int64_t>(body, "deadline_ns");
  return request;
}

template <class Message, class Body>
Result<Message> decode(const json& document, Body&& decode_body) {
  try {
    if (!document.is_object()) throw DecodeError("it is not an object");
    Message message;
    message.ticket = integer_at<std::uint64_t>(document, "ticket");
    decode_body(text_at(document, "type"), message);
    return message;
  } catch (const std::exception& error) {
    return unexpected(make_failure(FailureKind::protocol_error, Phase::run,
                                   fmt::format("a message between host and keeper is malformed: {}", error.what()),
                                   "message"));
  }
}

}  // namespace

json encode(const HostMessage& message) {
  json body = std::visit(HostEncoder{}, message.body);
  body["ticket"] = message.ticket;
  return body;
}

json encode(const KeeperMessage& message) {
  json body = std::visit(KeeperEncoder{}, message.body);
  body["ticket"] = message.ticket;
  return body;
}

Result<HostMessage> decode_host_message(const json& body) {
  return decode<HostMessage>(body, [&body](const std::string& type, HostMessage& message) {
    if (type == "probe") {
      message.body = ProbeRequest{decode_plugin(body), integer_at<std::int64_t>(body, "deadline_ns")};
    } else if (type == "open") {
      message.body = decode_open(body);
    } else if (type == "spawn") {
      message.body = decode_spawn(body);
    } else if (type == "close") {
      message.body = decode_close(body);
    } else if (type == "list") {
      message.body = ListRequest{decode_plugin(body), integer_at<std::int64_t>(body, "deadline_ns")};
    } else if (type == "reap") {
      message.body =
          ReapRequest{decode_plugin(body), member(body, "entry"), integer_at<std::int64_t>(body, "deadline_ns")};
    } else if (type == "sessions") {
      message.body = decode_sessions(body);
    } else if (type == "cancel") {
      message.body = CancelMessage{};
    } else if (type == "signal") {
      message.body = SignalMessage{integer_at<int>(body, "number")};
    } else {
      wrong("type", "a request");
    }
  });
}

Result<KeeperMessage> decode_keeper_message(const json& body) {
  return decode<KeeperMessage>(body, [&body](const std::string& type, KeeperMessage& message) {
    if (type == "reply") {
      message.body = decode_reply(body);
    } else if (type == "event") {
      message.body = decode_event(body);
    } else {
      wrong("type", "a reply or an event");
    }
  });
}

}  // namespace exechost::keeper
