#include "guest/files/report.hpp"

#include <initializer_list>

#include "guest/files/line.hpp"

namespace exechost::guest::files {

void report_skipped(Totals& totals, const char* reason, const char* path) {
  if (++totals.skipped > kMaxSkippedLines) return;
  Line line;
  line.add("skipped ");
  line.add(reason);
  line.add(" ");
  line.add_path(path);
  line.send(2);
}

int report_failed(const char* step, int error, const char* path) {
  Line line;
  line.add("failed ");
  line.add(step);
  line.add(" ");
  line.add(static_cast<std::uint64_t>(error));
  line.add(" ");
  line.add_path(path);
  line.send(2);
  return kBuiltinFailed;
}

namespace {

void send_totals(const char* word, const Totals& totals) {
  Line line;
  line.add(word);
  for (const std::uint64_t value : {totals.files, totals.folders, totals.links, totals.bytes, totals.skipped}) {
    line.add(" ");
    line.add(value);
  }
  line.send(2);
}

}  // namespace

int report_done(const Totals& totals) {
  send_totals("done", totals);
  return kBuiltinDone;
}

void report_before(const Totals& totals) { send_totals("before", totals); }

}  // namespace exechost::guest::files
