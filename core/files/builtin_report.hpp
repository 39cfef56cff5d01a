// What a built-in of the guest said on its standard error (guest/files/report.hpp). As hostile as everything
// else that comes from there: parsed with bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files/transfer.hpp"
#include "exechost/failure.hpp"

namespace exechost::files {

class BuiltinReport {
 public:
  // `root`: how what it is about is called in failures.
  explicit BuiltinReport(std::string root) : root_(std::move(root)) {}
  // In pieces as they come; what is more than a report can be is dropped. One thread at a time.
  void add(std::string_view bytes);
  // After the last piece.
  void finish();

  struct Done {
    Counts counts;
    std::uint64_t skipped = 0;
  };
  const std::optional<Done>& done() const { return done_; }
  // What was whole when it failed.
  const Counts& before() const { return before_; }
  const std::optional<Failure>& failure() const { return failure_; }
  // path -> reason, at most a hundred
  const std::vector<std::pair<std::string, std::string>>& skipped() const { return skipped_; }

 private:
  void read_line(std::string_view line);

  std::string line_;
  bool line_too_long_ = false;
  const std::string root_;
  std::optional<Done> done_;
  Counts before_;
  std::optional<Failure> failure_;
  std::vector<std::pair<std::string, std::string>> skipped_;
};

}  // namespace exechost::files
