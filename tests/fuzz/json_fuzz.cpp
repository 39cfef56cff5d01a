// Settings files and documents: whatever the bytes, parsing answers, and what it accepts goes
// through resolve() to settings or a failure that names something.
#include <cstdint>
#include <cstdlib>

#include "core/settings/settings.hpp"
#include "core/settings/strict_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = exechost::settings::parse_json_strict(text, "fuzz");
  if (!parsed) {
    if (parsed.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto scope : {exechost::settings::Scope::user, exechost::settings::Scope::project}) {
    exechost::settings::Sources sources;
    sources.files.push_back({scope, "fuzz", *parsed});
    const auto settings = exechost::settings::resolve(sources);
    if (!settings && settings.error().message.empty()) std::abort();
  }
  return 0;
}
