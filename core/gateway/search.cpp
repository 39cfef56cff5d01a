#include <unistd.h>

#include <cerrno>

#include "core/gateway/content.hpp"
#include "core/gateway/failures.hpp"
#include "core/gateway/line_search.hpp"
#include "core/gateway/name_pattern.hpp"
#include "core/gateway/operations.hpp"
#include "core/gateway/walk.hpp"

namespace exechost::gateway {
namespace {

class Searcher {
 public:
  Searcher(const Gateway::Parts& parts, const SearchOptions& options, const Patience& patience)
      : parts_(parts),
        options_(options),
        patience_(patience),
        pattern_(options.name),
        lines_(options.text, options.ignore_case, parts.policy.limits.line_bytes) {}

  Result<SearchResult> run(const Located& start) {
    Result<void> interrupted;
    WalkHandlers handlers;
    handlers.visit = [&](const WalkEntry& entry) {
      if (entry.kind != FileKind::regular) return true;
      if (!entry.relative.empty() && !options_.name.empty() && !pattern_.matches(entry.name)) return true;
      auto file = Places::locate_below(parts_.rules, start, entry.relative, patience_);
      // It can have become something else since its folder was read.
      if (file && !file->is_regular()) return true;
      auto done = file ? search_file(*file, entry.relative) : Result<void>(unexpected(file.error()));
      if (!done && is_interruption(done.error())) {
        interrupted = done;
        return false;
      }
      if (!done) skip(done.error());
      return !result_.truncated;
    };
    handlers.complain = [&](const WalkEntry&, const Failure& failure) { skip(failure); };
    WalkOptions walking;
    walking.sorted = true;
    walking.max_depth = options_.max_depth.value_or(UINT64_MAX);
    const auto end = walk(parts_, start, walking, handlers, patience_);
    if (!end) return unexpected(end.error());
    if (!interrupted) return unexpected(interrupted.error());
    result_.truncated = result_.truncated || *end == WalkEnd::limit;
    return std::move(result_);
  }

  Result<void> search_file(const Located& file, const std::string& relative) {
    auto content = Content::open(file, parts_.policy.limits.file_bytes, patience_);
    if (!content) return unexpected(content.error());
    ++result_.files_searched;
    return lines_.run(input_of(*content, file.shown), [&](const LineHit& hit) {
      if (result_.matches.size() >= options_.max_results) {
        result_.truncated = true;
        return false;
      }
      SearchMatch match;
      match.path = relative;
      match.binary = hit.binary;
      if (!hit.binary) {
        match.line = hit.line;
        match.text = std::string(hit.text.substr(0, options_.max_line_bytes));
        match.truncated = hit.text.size() > match.text.size();
      }
      result_.matches.push_back(std::move(match));
      return !hit.binary;
    });
  }

 private:
  static LineSearch::Input input_of(Content& content, std::string_view shown) {
    LineSearch::Input input;
    input.shown = shown;
    input.read_at = [&content](std::uint64_t offset, std::span<char> buffer) {
      return content.read_at(offset, buffer);
    };
    input.has_hole_behind = [&content](std::uint64_t offset) { return content.has_hole_behind(offset); };
    return input;
  }

  void skip(const Failure& failure) {
    if (result_.skipped.size() < kMostSkipped) result_.skipped.push_back(failure);
  }

  const Gateway::Parts& parts_;
  const SearchOptions& options_;
  const Patience& patience_;
  NamePattern pattern_;
  LineSearch lines_;
  SearchResult result_;
};

}  // namespace

Result<SearchResult> search(const Gateway::Parts& parts, std::string_view start, const SearchOptions& options,
                            const Patience& patience) {
  if (options.text.empty() || options.text.find_first_of(std::string_view("\n\0", 2)) != std::string::npos) {
    return unexpected(unfit(options.text,
                            "can't be searched for: a text that is not empty, on one line and without "
                            "NUL bytes can",
                            EINVAL));
  }
  auto located = parts.locate(start, {}, FinalLink::follow, patience);
  if (!located) return unexpected(located.error());
  if (!located->is_folder() && !located->is_regular()) {
    return unexpected(refused(start, "is neither a regular file nor a folder: it is not opened"));
  }
  return Searcher(parts, options, patience).run(*located);
}

}  // namespace exechost::gateway
