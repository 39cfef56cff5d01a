#include <unistd.h>

#include <fstream>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"

namespace exechost::bench {
namespace {

constexpr const char* kNotInstalled = "not installed: the package manager could not be reached, or was not asked";

// Once now, so that a product that can't run here is said to be missing, not a broken comparison.
Peer tried(std::string name, Once once) {
  try {
    once();
    return {std::move(name), std::move(once), {}};
  } catch (const std::exception& error) {
    return {std::move(name), std::nullopt, error.what()};
  }
}

std::string program_of(const std::string& peers, const std::string& name) {
  if (peers.empty()) return {};
  std::string program = peers + "/node_modules/.bin/" + name;
  return ::access(program.c_str(), X_OK) == 0 ? program : std::string();
}

}  // namespace

Peer codex(const Place& place, const std::string& peers) {
  const std::string program = program_of(peers, "codex");
  if (program.empty()) return {"codex sandbox", std::nullopt, kNotInstalled};
  return tried("codex sandbox", [program, &place] {
    return spawn_and_wait({program, "sandbox", "/bin/true"}, place.environment(), place.workspace());
  });
}

Peer srt(const Place& place, const std::string& peers) {
  const std::string program = program_of(peers, "srt");
  if (program.empty()) return {"srt", std::nullopt, kNotInstalled};
  const std::string settings = place.home() + "/srt.json";
  std::ofstream(settings) << R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
                          << R"("filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}})" << '\n';
  return tried("srt", [program, settings, &place] {
    return spawn_and_wait({program, "-s", settings, "--", "/bin/true"}, place.environment(), place.workspace());
  });
}

}  // namespace exechost::bench
