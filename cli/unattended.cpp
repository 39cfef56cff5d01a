#include "cli/unattended.hpp"

#include <unistd.h>

#include <chrono>

#include "core/host/inspect.hpp"

namespace exechost::cli {
namespace {

constexpr std::chrono::minutes kUnattendedTimeout{10};

bool at_a_terminal() { return ::isatty(STDIN_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1; }

}  // namespace

Result<settings::Settings> settle_timeout(const HostOptions& options, Request& request) {
  auto settings = host::inspect_settings(options, request);
  if (settings && !settings->requested("resources.timeout") && !at_a_terminal()) {
    request.timeout = kUnattendedTimeout;
    request.settings_origins.emplace("/resources/timeout", "no terminal");
  }
  return settings;
}

}  // namespace exechost::cli
