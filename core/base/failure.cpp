#include "exechost/failure.hpp"

#include <array>
#include <utility>

namespace exechost {
namespace {

constexpr std::array kKinds{
    std::pair{FailureKind::invalid_request, std::string_view("invalid_request")},
    std::pair{FailureKind::unsupported, std::string_view("unsupported")},
    std::pair{FailureKind::unavailable, std::string_view("unavailable")},
    std::pair{FailureKind::provision_failed, std::string_view("provision_failed")},
    std::pair{FailureKind::spawn_failed, std::string_view("spawn_failed")},
    std::pair{FailureKind::denied, std::string_view("denied")},
    std::pair{FailureKind::environment_lost, std::string_view("environment_lost")},
    std::pair{FailureKind::protocol_error, std::string_view("protocol_error")},
    std::pair{FailureKind::plugin_crashed, std::string_view("plugin_crashed")},
};

constexpr std::array kPhases{
    std::pair{Phase::plan, std::string_view("plan")},
    std::pair{Phase::admission, std::string_view("admission")},
    std::pair{Phase::provision, std::string_view("provision")},
    std::pair{Phase::spawn, std::string_view("spawn")},
    std::pair{Phase::run, std::string_view("run")},
    std::pair{Phase::collect, std::string_view("collect")},
    std::pair{Phase::cleanup, std::string_view("cleanup")},
};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <class Table, class Value>
Value value_in(const Table& table, std::string_view name, Value fallback) {
  for (const auto& [value, candidate] : table) {
    if (candidate == name) return value;
  }
  return fallback;
}

}  // namespace

std::string_view to_string(FailureKind kind) { return name_in(kKinds, kind); }
std::string_view to_string(Phase phase) { return name_in(kPhases, phase); }

std::string_view to_string(Started started) {
  switch (started) {
    case Started::no: return "no";
    case Started::yes: return "yes";
    case Started::unknown: return "unknown";
  }
  return "unknown";
}

FailureKind failure_kind_from(std::string_view name, FailureKind fallback) { return value_in(kKinds, name, fallback); }
Phase phase_from(std::string_view name, Phase fallback) { return value_in(kPhases, name, fallback); }

std::string describe(const Failure& failure) {
  std::string text = failure.message;
  if (!failure.hint.empty()) text += " (" + failure.hint + ")";
  return text;
}

}  // namespace exechost
