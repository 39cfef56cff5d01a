// One library under several names: what each name's manifest claims, as the library has to know it.
#pragma once

#include <string>
#include <string_view>

#include "tests/mutants/faults.hpp"

namespace mutants {

struct Variant {
  std::string_view id;
  std::string_view claims;  // the manifest's "capabilities" member of its statement, as JSON
  Needs gives;              // no_guest, or what it claims beyond that; any: it takes the guest
  std::string runner;       // absolute path of exechost-mutant-runner

  bool has(Needs needs) const {
    // Every variant but the one with the guest starts commands itself.
    return needs == Needs::any || needs == gives || (needs == Needs::no_guest && gives != Needs::any);
  }
};

}  // namespace mutants
