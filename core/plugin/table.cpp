#include "core/plugin/table.hpp"

#include <fmt/format.h>

#include <optional>

#include "core/base/utf8.hpp"
#include "core/plugin/failures.hpp"

namespace exechost::plugin {
namespace {

constexpr std::uint64_t kMaxName = 256;

// The text, or nothing when it is no sensible name.
std::optional<std::string> name_from(eh_str text) {
  if (text.ptr == nullptr || text.len == 0 || text.len > kMaxName) return std::nullopt;
  return to_valid_utf8(std::string_view(text.ptr, static_cast<std::size_t>(text.len)));
}

std::optional<std::string> wrong_name(const char* what, eh_str given, const std::string& expected) {
  const std::optional<std::string> name = name_from(given);
  if (!name) return fmt::format("gives no usable {}", what);
  if (*name != expected) return fmt::format(R"(says its {} is "{}", its manifest says "{}")", what, *name, expected);
  return std::nullopt;
}

// What is wrong with the table, or nothing.
std::optional<std::string> plugin_problem(const eh_plugin* table, const Manifest& manifest) {
  if (table == nullptr) {
    return fmt::format("refuses this ExecHost (plugin ABI {}.{})", EH_ABI_MAJOR, EH_ABI_MINOR);
  }
  if (!EH_HAS(table, eh_plugin, magic)) return fmt::format("gives a table of {} bytes", table->struct_size);
  if (table->magic != EH_MAGIC) {
    return fmt::format("gives a table with the magic number {:#010x}, not {:#010x}", table->magic, EH_MAGIC);
  }
  if (!EH_HAS(table, eh_plugin, abi_major)) return fmt::format("gives a table of {} bytes", table->struct_size);
  if (table->abi_major != EH_ABI_MAJOR) {
    return fmt::format("is built for plugin ABI {}, this ExecHost has {}", table->abi_major, EH_ABI_MAJOR);
  }
  if (!EH_HAS(table, eh_plugin, create)) {
    return fmt::format("gives a truncated table: {} bytes, ABI 1.0 has {}", table->struct_size,
                       offsetof(eh_plugin, create) + sizeof table->create);
  }
  if (auto wrong = wrong_name("id", table->id, manifest.id)) return wrong;
  if (auto wrong = wrong_name("version", table->version, manifest.version)) return wrong;
  if (table->create == nullptr) return "has no function \"create\"";
  return std::nullopt;
}

}  // namespace

Result<void> check_plugin_table(const eh_plugin* table, const Manifest& manifest, const std::string& path) {
  const std::optional<std::string> problem = plugin_problem(table, manifest);
  if (!problem) return {};
  Failure failure = refused(path, *problem, "install the plugin for this version of ExecHost, or ask its author");
  failure.backend = manifest.id;
  failure.phase = Phase::provision;
  return unexpected(failure);
}

}  // namespace exechost::plugin
