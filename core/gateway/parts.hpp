// What a Gateway is made of; never changed once it is open.
#pragma once

#include "core/gateway/access.hpp"
#include "core/gateway/places.hpp"
#include "exechost/gateway.hpp"

namespace exechost::gateway {

struct Gateway::Parts {
  Parts(Policy given, Places opened) : policy(std::move(given)), rules(policy), places(std::move(opened)) {}
  Parts(const Parts&) = delete;  // `rules` refers to `policy`
  Parts& operator=(const Parts&) = delete;

  // Relative paths begin at `from`; empty: at the workspace.
  Result<Located> locate(std::string_view path, std::string_view from, FinalLink link, const Patience& patience) const {
    return places.locate(rules, path, from.empty() ? std::string_view(policy.workspace) : from, link, patience);
  }

  Policy policy;
  AccessRules rules;
  Places places;
};

}  // namespace exechost::gateway
