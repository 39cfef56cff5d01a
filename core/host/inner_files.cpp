#include "core/host/inner_files.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/files/builtin_report.hpp"
#include "core/files/failures.hpp"
#include "core/files/file_list.hpp"
#include "guest/files/report.hpp"

namespace exechost {

std::string_view to_string(FileType type) {
  constexpr std::array<std::string_view, 7> kNames{"file", "folder", "link", "socket", "fifo", "device", "other"};
  return kNames.at(static_cast<std::size_t>(type));
}

namespace host {
namespace {

using Lines = std::function<void(std::string_view)>;

// Runs it to its end. `lines` hears its standard output, on the reactor's thread.
Result<void> run_builtin(const CopyHost& host, const CopyPlace& place, const char* name, Lines lines,
                         const std::stop_token& stop) {
  Request request = place.where;
  request.argv = {name, place.path};
  request.shell.reset();
  request.tty = false;
  request.standard_input = {};
  request.stdout_descriptor = request.stderr_descriptor = -1;
  const auto said = std::make_shared<files::BuiltinReport>(place.path);
  request.on_output = [said, lines = std::move(lines)](StdStream stream, std::string_view bytes) {
    if (stream == StdStream::err) {
      said->add(bytes);
    } else if (lines) {
      lines(bytes);
    }
  };
  auto execution = host.start(request);
  if (!execution) return unexpected(execution.error());
  const std::stop_callback on_stop(stop, [&execution] { execution->cancel(); });
  const ExecResult& ended = execution->wait();
  if (ended.status == Status::failed) return unexpected(*ended.failure);
  if (ended.status == Status::cancelled) return unexpected(files::from_errno(place.path, name, ECANCELED));
  if (ended.status == Status::timed_out) return unexpected(files::from_errno(place.path, name, ETIMEDOUT));
  if (said->failure()) return unexpected(*said->failure());
  if (ended.status != Status::exited || ended.exit_code != guest::files::kBuiltinDone || !said->done())
    return unexpected(files::broken_stream(place.path, "was not brought to its end"));
  return {};
}

Result<std::vector<FileEntry>> entries_of(const CopyHost& host, const CopyPlace& place, const char* name,
                                          const std::stop_token& stop) {
  auto terms = host.terms(place.where);
  if (!terms) return unexpected(terms.error());
  const auto list = std::make_shared<files::FileList>(terms->limits.entries);
  // What is too much, or is none, ends it: nothing more of it is of use.
  std::stop_source enough;
  const std::stop_callback on_stop(stop, [&enough] { enough.request_stop(); });
  const auto done = run_builtin(
      host, place, name,
      [list, enough](std::string_view bytes) mutable {
        if (!list->add(bytes)) enough.request_stop();
      },
      enough.get_token());
  if (list->failure()) return unexpected(*list->failure());
  if (!done) return unexpected(done.error());
  return list->take();
}

}  // namespace

Result<FileEntry> file_status(const CopyHost& host, const CopyPlace& place, const std::stop_token& stop) {
  auto entries = entries_of(host, place, "stat", stop);
  if (!entries) return unexpected(entries.error());
  if (entries->size() != 1) return unexpected(files::broken_stream(place.path, "was described more than once"));
  return std::move(entries->front());
}

Result<std::vector<FileEntry>> list_files(const CopyHost& host, const CopyPlace& place, const std::stop_token& stop) {
  return entries_of(host, place, "list", stop);
}

Result<void> remove_file(const CopyHost& host, const CopyPlace& place, bool tree, const std::stop_token& stop) {
  return run_builtin(host, place, tree ? "remove-tree" : "remove", nullptr, stop);
}

}  // namespace host
}  // namespace exechost
