#include "core/keeper/environment.hpp"

#include <fmt/format.h>

#include <chrono>

#include "core/base/clock.hpp"
#include "core/cleanup/identity.hpp"
#include "core/keeper/command_server.hpp"
#include "core/keeper/failures.hpp"
#include "core/keeper/serve_call.hpp"
#include "core/keeper/stream_call.hpp"
#include "core/keeper/wire.hpp"

namespace exechost::keeper {
namespace {

using nlohmann::json;

constexpr auto kCloseTime = std::chrono::seconds(3);
constexpr const char* kGuestInside = "/run/exechost/guest";
constexpr std::size_t kMaxAnswerBytes = 1024UL * 1024;

Failure wrong_document(std::string message) {
  return make_failure(FailureKind::invalid_request, Phase::provision, std::move(message), "document");
}

// What the ledger records, taken from the document or made here and put into it.
Result<cleanup::LedgerRecord> identify(json& document, const std::string& backend) {
  if (!document.is_object()) return unexpected(wrong_document("the document for open is not an object"));
  const auto text_or = [&document](const char* name, auto make) -> Result<std::string> {
    auto& value = document[name];
    if (value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty())) {
      Result<std::string> made = make();
      if (!made) return made;
      value = *made;
    }
    if (!value.is_string())
      return unexpected(wrong_document(fmt::format("\"{}\" in the document for open is not a text", name)));
    return value.get<std::string>();
  };
  cleanup::LedgerRecord record;
  record.backend = backend;
  record.kind = "environment";
  auto id = text_or("id", [] { return cleanup::make_id(); });
  if (!id) return unexpected(id.error());
  if (!cleanup::is_id(*id)) {
    return unexpected(
        wrong_document(fmt::format("the id \"{}\" in the document for open is not 32 lower-case hex digits", *id)));
  }
  record.id = *id;
  auto name = text_or("name", [&record] { return Result<std::string>("exechost-" + record.id.substr(0, 12)); });
  if (!name) return unexpected(name.error());
  record.name = *name;
  auto& labels = document["labels"];
  if (labels.is_null() || labels.empty()) labels = json{{"exechost.id", record.id}};
  if (!labels.is_object()) return unexpected(wrong_document("\"labels\" in the document for open is not an object"));
  for (const auto& [key, value] : labels.items()) {
    if (!value.is_string()) return unexpected(wrong_document(fmt::format("label \"{}\" is not a text", key)));
    record.labels[key] = value.get<std::string>();
  }
  return record;
}

// Undoes the entry of an environment that provably does not exist.
void drop_entry(cleanup::LedgerEntry& entry) {
  [[maybe_unused]] const auto removed = entry.remove();  // a file that stays is an orphan for a later start
}

Failure protocol_error(const Backend& backend, std::string message) {
  Failure failure = make_failure(FailureKind::protocol_error, Phase::provision, std::move(message), "open");
  failure.backend = backend.id();
  return failure;
}

Opened not_opened(CallResult why) { return {std::move(why), nullptr, nullptr}; }

}  // namespace

Opened open_environment(const OpenRequest& request, const std::shared_ptr<Backend>& backend, cleanup::Ledger& ledger,
                        const std::string& guest_path, const plugin::CallLimits& limits) {
  json document = request.document;
  auto record = identify(document, backend->id());
  if (!record) return not_opened(CallResult::failed(record.error()));
  if (!document.contains("deadline_ns")) document["deadline_ns"] = request.deadline_ns;
  if (!document.contains("init")) document["init"] = {{"source", guest_path}, {"target", kGuestInside}};
  std::string text;
  try {
    text = document.dump();
  } catch (const json::exception& error) {
    return not_opened(
        CallResult::failed(wrong_document(fmt::format("the document for open is not UTF-8: {}", error.what()))));
  }
  auto entry = ledger.add(*record);
  if (!entry) return not_opened(CallResult::failed(entry.error()));

  const eh_environment* table = nullptr;
  CallResult result = call_plugin(backend->id(), Phase::provision, limits, [&](const eh_call* call) {
    return backend->table()->open(backend->table()->self, plugin::to_eh(text), call, &table);
  });
  if (result.status != ReplyStatus::ok) {
    // "What had been begun is undone" holds for every answer but a broken protocol.
    if (result.status != ReplyStatus::failed || result.failure.kind != FailureKind::protocol_error) drop_entry(*entry);
    return not_opened(std::move(result));
  }
  if (!is_whole(table)) {
    return not_opened(CallResult::failed(protocol_error(
        *backend, fmt::format("backend \"{}\" gave an environment table with functions missing", backend->id()))));
  }
  auto environment = std::make_shared<Environment>();
  environment->backend = backend;
  environment->table = table;
  environment->id = record->id;
  environment->entry = std::make_shared<cleanup::LedgerEntry>(std::move(*entry));
  const auto answer = parse_bounded(result.answer, kMaxAnswerBytes);
  const bool usable = answer && (answer->is_null() || answer->is_object());
  if (usable && answer->is_object() && answer->contains("init") && answer->at("init").is_string()) {
    environment->init = answer->at("init").get<std::string>();
  }
  if (!usable) {
    close_environment(*environment, nullptr, false, limits);
    return not_opened(CallResult::failed(protocol_error(
        *backend, fmt::format("backend \"{}\" answered open with something that is no JSON object", backend->id()))));
  }
  if (!request.serve) return {std::move(result), std::move(environment), nullptr};
  auto guest = std::make_shared<ServingGuest>();
  CallResult serving = request.stream
                           ? start_stream(*environment, request.confinement, request.lease_ms, limits, *guest)
                           : start_serving(*environment, request.confinement, limits, *guest);
  if (serving.status == ReplyStatus::ok) return {std::move(result), std::move(environment), std::move(guest)};
  // What stopped it may have stopped for good: closing gets time of its own.
  plugin::CallLimits closing;
  closing.deadline_ns = deadline_after(kCloseTime);
  close_environment(*environment, nullptr, false, closing);
  return not_opened(std::move(serving));
}

CallResult close_environment(Environment& environment, ServingGuest* guest, bool purge,
                             const plugin::CallLimits& limits) {
  if (guest != nullptr && guest->process && !end_guest(*guest)) {
    return CallResult::failed(make_failure(FailureKind::environment_lost, Phase::cleanup,
                                           "the environment's first process does not end", "guest"));
  }
  CallResult result = call_plugin(environment.backend->id(), Phase::cleanup, limits, [&](const eh_call* call) {
    return environment.table->close(environment.table->self, purge ? 1 : 0, call);
  });
  if (result.status != ReplyStatus::ok) return result;
  if (auto removed = environment.entry->remove(); !removed) return CallResult::failed(removed.error());
  return result;
}

}  // namespace exechost::keeper
