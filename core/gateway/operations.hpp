// The operations that are more than a few lines, one file each.
#pragma once

#include "core/gateway/parts.hpp"

namespace exechost::gateway {

Result<void> write_file(const Gateway::Parts& parts, std::string_view path, std::string_view bytes,
                        const WriteOptions& options, const Patience& patience);
Result<FindResult> find(const Gateway::Parts& parts, std::string_view start, const FindOptions& options,
                        const Patience& patience);
Result<SearchResult> search(const Gateway::Parts& parts, std::string_view start, const SearchOptions& options,
                            const Patience& patience);

// How many of the things that were passed over a result names.
inline constexpr std::size_t kMostSkipped = 100;

}  // namespace exechost::gateway
