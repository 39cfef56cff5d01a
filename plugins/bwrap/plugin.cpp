// The bwrap backend: each command gets namespaces of its own, made by bubblewrap from the core's
// view, with the guest as process 1.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "exechost/backend.hpp"
#include "probe.hpp"
#include "program.hpp"
#include "sandbox.hpp"

namespace exechost::bwrap {
namespace {

sdk::Failure system_failure(sdk::Phase phase, const char* step, const std::string& message) {
  sdk::Failure failure;
  failure.kind = phase == sdk::Phase::spawn ? sdk::Kind::spawn_failed : sdk::Kind::provision_failed;
  failure.phase = phase;
  failure.error_number = errno;
  failure.step = step;
  failure.message = message;
  return failure;
}

struct Pipe {
  sdk::Fd read_end;
  sdk::Fd write_end;
};

sdk::Outcome<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_failure(sdk::Phase::spawn, "pipe", "no pipe to bwrap");
  Pipe pipe{sdk::Fd(ends[0]), sdk::Fd(ends[1])};
  // Only our end: the two ends are separate open file descriptions.
  if (::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return system_failure(sdk::Phase::spawn, "pipe", "no non-blocking pipe to bwrap");
  }
  return pipe;
}

// The options in memory, NUL-separated, as --args reads them: no limit on their length, and
// nobody sees the paths in a process list.
sdk::Outcome<sdk::Fd> options_file(const std::vector<std::string>& options) {
  sdk::Fd file(::memfd_create("bwrap-options", MFD_CLOEXEC));
  if (!file) return system_failure(sdk::Phase::spawn, "memfd", "no memory file for bwrap's options");
  std::string text;
  for (const std::string& option : options) text.append(option).push_back('\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_failure(sdk::Phase::spawn, "memfd", "bwrap's options could not be written");
    done += static_cast<std::size_t>(count);
  }
  return file;
}

// Each masked file takes a descriptor of its own, and these are bounded.
std::size_t masked_files(const nlohmann::json& document) {
  const auto& view = document.at("view");
  return static_cast<std::size_t>(std::count_if(
      view.begin(), view.end(), [](const nlohmann::json& entry) { return entry.value("access", "") == "masked"; }));
}

sdk::Failure too_many_masks(std::size_t count) {
  sdk::Failure failure;
  failure.kind = sdk::Kind::unsupported;
  failure.step = "view";
  failure.message = std::to_string(count) + " single files would have to be hidden; the bwrap backend hides at most " +
                    std::to_string(kMaxMasks);
  failure.hint = "name the folders that hold them in filesystem.deny_read, instead of the files";
  return failure;
}

// Of a guest that is reached over its standard input and output there is no control socket.
bool is_stream_guest(const std::vector<std::string>& arguments, const std::string& init) {
  return arguments == std::vector<std::string>{init, "serve", "--stream"};
}

class BwrapEnvironment final : public sdk::Environment {
 public:
  BwrapEnvironment(sdk::Host host, std::string program, Rendered rendered, sdk::OpenEnvironments::Entry listed)
      : host_(host), program_(std::move(program)), rendered_(std::move(rendered)), listed_(std::move(listed)) {}

  sdk::Outcome<std::unique_ptr<sdk::Execution>> spawn(const sdk::SpawnRequest& request,
                                                      const sdk::Call& call) override {
    if (!request.has_guest() && !is_stream_guest(request.arguments(), rendered_.init)) {
      sdk::Failure failure;
      failure.kind = sdk::Kind::unsupported;
      failure.phase = sdk::Phase::spawn;
      failure.message = "the bwrap backend starts commands through exechost-guest only";
      return failure;
    }
    sdk::Outcome<Pipe> diagnostics = make_pipe();
    if (!diagnostics) return diagnostics.failure();
    sdk::Outcome<Pipe> status = make_pipe();
    if (!status) return status.failure();
    sdk::Outcome<sdk::Fd> options = options_file(rendered_.options);
    if (!options) return options.failure();

    sdk::ProcessSpec spec;
    spec.arguments.push_back(program_);
    spec.arguments.insert(spec.arguments.end(), rendered_.command.begin(), rendered_.command.end());
    for (std::string& argument : request.arguments()) spec.arguments.push_back(std::move(argument));
    // bwrap's own messages go to a pipe of ours, so that they can't mix with the command's. It keeps
    // its first three descriptors to its end and closes the others: the command's streams are among
    // those, or nobody would see that the command has closed one.
    for (const char* option : {"--stdin-fd=4", "--stdout-fd=5", "--stderr-fd=6"}) spec.arguments.emplace_back(option);
    spec.descriptors = {-1, -1, diagnostics->write_end.get(), request.control_fd(), request.stdin_fd(),
                        request.stdout_fd(), request.stderr_fd(), options->get(), status->write_end.get(),
                        // Its own reader: with the keeper gone bwrap would end on writing its status, which it
                        // does while its child waits for a word from it.
                        status->read_end.get()};
    spec.outlives_keeper = true;  // see arguments.cpp
    spec.descriptors.resize(spec.descriptors.size() + rendered_.mask_count, -1);

    sdk::Outcome<sdk::Process> process = host_.spawn(spec, call);
    if (!process) return process.failure();
    auto sandbox =
        std::make_unique<Sandbox>(std::move(*process), std::move(diagnostics->read_end), std::move(status->read_end));
    status->write_end.reset();
    sandbox->learn_init();
    return std::unique_ptr<sdk::Execution>(std::move(sandbox));
  }

  // Namespaces ended with their processes: there is nothing to remove.
  sdk::Outcome<void> close(bool /*purge*/, const sdk::Call& /*call*/) override { return {}; }

 private:
  sdk::Host host_;
  std::string program_;
  Rendered rendered_;
  sdk::OpenEnvironments::Entry listed_;
};

class BwrapBackend final : public sdk::Backend {
 public:
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host host, std::string_view settings,
                                                            const sdk::Call& /*call*/) {
    const nlohmann::json values = nlohmann::json::parse(settings);
    return std::unique_ptr<sdk::Backend>(std::make_unique<BwrapBackend>(host, values.value("path", "")));
  }

  BwrapBackend(sdk::Host host, std::string configured_path)
      : host_(host), configured_path_(std::move(configured_path)) {}

  sdk::Outcome<std::string> probe(const sdk::Call& call) override {
    return bwrap::probe(host_, configured_path_, call);
  }

  sdk::Outcome<sdk::Opened> open(std::string_view document, const sdk::Call& /*call*/) override {
    const auto found = find_program(configured_path_);
    if (const auto* problem = std::get_if<ProgramProblem>(&found)) {
      sdk::Failure failure;
      failure.kind = sdk::Kind::unavailable;
      failure.message = problem->message;
      failure.hint = problem->hint;
      failure.error_number = problem->error_number;
      failure.step = "find";
      return failure;
    }
    const nlohmann::json parsed = nlohmann::json::parse(document);
    if (const std::size_t count = masked_files(parsed); count > kMaxMasks) return too_many_masks(count);
    Rendered rendered = render(parsed, {});
    const std::string answer = nlohmann::json{{"init", rendered.init}, {"details", nlohmann::json::object()}}.dump();
    auto listed = open_.add(nlohmann::json{{"name", parsed.at("name")}, {"labels", parsed.at("labels")}}.dump());
    return sdk::Opened{std::make_unique<BwrapEnvironment>(host_, std::get<Program>(found).path, std::move(rendered),
                                                          std::move(listed)),
                       answer};
  }

  // Namespaces end with their processes, and those with the keeper: nothing outlives it.
  sdk::Outcome<void> reap(std::string_view /*entry*/, const sdk::Call& /*call*/) override { return {}; }
  sdk::Outcome<std::string> list(const sdk::Call& /*call*/) override { return open_.list(); }

 private:
  sdk::Host host_;
  std::string configured_path_;
  sdk::OpenEnvironments open_;
};

}  // namespace
}  // namespace exechost::bwrap

// Tests build it once more under another name.
#ifndef EXECHOST_BWRAP_ID
#define EXECHOST_BWRAP_ID "bwrap"
#endif
EXECHOST_PLUGIN(exechost::bwrap::BwrapBackend, EXECHOST_BWRAP_ID, "0.1.0");
