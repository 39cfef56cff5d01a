// The finished list of paths a command may see. A backend renders it, in this order
// (shallow before deep), and never interprets policy.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace exechost::plan {

enum class Access {
  ro,        // the host's file or folder, read-only with everything below
  rw,        // the host's file or folder, writable
  hidden,    // a folder: empty, read-only, not listable; what it holds on the host is out of reach
  masked,    // a file: empty and unreadable
  private_,  // a folder: empty, writable, gone with the environment, at most size_bytes
};
std::string_view to_string(Access access);  // "private" for private_

struct ViewEntry {
  std::string path;  // absolute, lexically normal, where it is inside
  Access access = Access::ro;
  std::string source;            // the host's path when it differs from `path`; else empty
  std::uint64_t size_bytes = 0;  // for private_
  std::string reason;            // for explain: "workspace", "ExecHost's own settings", ...

  bool operator==(const ViewEntry&) const = default;
};

struct View {
  std::vector<ViewEntry> entries;

  // The access that decides about `path` (the deepest entry above or at it).
  const ViewEntry* deciding(std::string_view path) const;
};

nlohmann::json to_json(const View& view);

}  // namespace exechost::plan
