// The faults a mutant can have: what each is called, which variant has it, what it changes.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace mutants {

enum class Fault {
#define FAULT(name, needs, changes) name,
#include "tests/mutants/faults.def"
#undef FAULT
};

// What a variant has to be for a fault to show.
enum class Needs { any, no_guest, limits, offline, persistent, open_schema };

struct FaultInfo {
  Fault fault;
  std::string_view name;
  Needs needs;
  std::string_view changes;
};

inline constexpr std::array kFaults{
#define FAULT(name, needs, changes) FaultInfo{Fault::name, #name, Needs::needs, changes},
#include "tests/mutants/faults.def"
#undef FAULT
};

constexpr std::optional<FaultInfo> find_fault(std::string_view name) {
  for (const FaultInfo& info : kFaults) {
    if (info.name == name) return info;
  }
  return std::nullopt;
}

}  // namespace mutants
