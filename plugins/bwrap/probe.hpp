// What bwrap can do on this machine now, found by doing it.
#pragma once

#include <string>

#include "exechost/backend.hpp"
#include "program.hpp"

namespace exechost::bwrap {

// The probe document (plugin.h). Runs bwrap once with every namespace this backend uses and
// /bin/true-like nothing inside: its own --version.
sdk::Outcome<std::string> probe(const sdk::Host& host, const std::string& configured_path, const sdk::Call& call);

}  // namespace exechost::bwrap
