// A plugin's manifest: accepted with an id, or refused with a reason.
#include <cstdint>
#include <cstdlib>

#include "core/plugin/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = exechost::plugin::parse_manifest(text, "/plugins/fuzz.json");
  if (manifest ? manifest->id != "fuzz" : manifest.error().message.empty()) std::abort();
  return 0;
}
