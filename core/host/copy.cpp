#include "core/host/copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/unique_fd.hpp"
#include "core/environment/session_place.hpp"
#include "core/files/builtin_report.hpp"
#include "core/files/failures.hpp"
#include "core/files/local_target.hpp"
#include "core/files/local_tree.hpp"
#include "core/files/measure.hpp"
#include "core/files/pipe_signal.hpp"
#include "core/files/tar_reader.hpp"
#include "core/files/tar_writer.hpp"
#include "core/files/transfer.hpp"
#include "core/plan/settings_access.hpp"
#include "guest/files/report.hpp"

namespace exechost::host {
namespace {

constexpr std::size_t kMostSkippedShown = 100;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unexpected(files::from_errno("a pipe", "pipe", errno));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A built-in that runs in an environment, with this end of its stream.
class Builtin {
 public:
  enum class Direction { out, in };

  static Result<std::unique_ptr<Builtin>> start(const CopyHost& host, Request request, std::vector<std::string> argv,
                                                Direction direction) {
    auto pipe = make_pipe();
    if (!pipe) return unexpected(pipe.error());
    std::unique_ptr<Builtin> builtin(new Builtin(argv.at(1), direction));
    request.argv = std::move(argv);
    request.shell.reset();
    request.tty = false;
    request.standard_input = {};
    request.stdout_descriptor = request.stderr_descriptor = -1;
    request.on_output = [said = builtin->said_](StdStream stream, std::string_view bytes) {
      if (stream == StdStream::err) said->add(bytes);
    };
    if (direction == Direction::in) {
      request.standard_input.kind = StdinSource::Kind::descriptor;
      request.standard_input.descriptor = pipe->read.get();
    } else {
      request.stdout_descriptor = pipe->write.get();
    }
    auto execution = host.start(request);
    if (!execution) return unexpected(execution.error());
    builtin->execution_.emplace(std::move(*execution));
    builtin->end_ = std::move(direction == Direction::in ? pipe->write : pipe->read);
    return builtin;
  }

  int end() const { return end_.get(); }
  // To its input: there is no more. To its output: it is not read any further.
  void close() { end_.reset(); }
  void cancel() { execution_->cancel(); }
  const ExecResult& wait() { return execution_->wait(); }
  bool receives() const { return direction_ == Direction::in; }
  // After wait(): the reactor has said everything.
  const files::BuiltinReport& report() const { return *said_; }

 private:
  Builtin(std::string path, Direction direction)
      : said_(std::make_shared<files::BuiltinReport>(std::move(path))), direction_(direction) {}
  std::shared_ptr<files::BuiltinReport> said_;
  Direction direction_;
  UniqueFd end_;
  std::optional<Execution> execution_;
};

class Copy {
 public:
  Copy(const CopyOptions& options, std::stop_token stop)
      : options_(options), stop_(std::move(stop)), began_ns_(monotonic_now_ns()) {}

  files::SkipHandler on_skip() {
    return [this](const std::string& path, std::string_view reason) {
      ++result_.skipped_count;
      if (result_.skipped.size() < kMostSkippedShown) result_.skipped.push_back({path, std::string(reason)});
    };
  }

  CopyResult failed(Failure failure) {
    result_.status = failure.error_number == ECANCELED && stop_.stop_requested() ? Status::cancelled : Status::failed;
    if (result_.status == Status::failed) result_.failure = std::move(failure);
    return finished();
  }

  files::TransferOptions transfer_options(const files::Limits& limits, std::optional<files::Counts> total = {}) const {
    files::TransferOptions transfer;
    transfer.limits = limits;
    transfer.wanted = [this] { return !stop_.stop_requested(); };
    if (options_.on_progress) {
      transfer.on_progress = [this, total](const files::Counts& counts) {
        CopyProgress progress{counts.entries(), counts.bytes, {}, {}};
        if (total) {
          progress.total_entries = total->entries();
          progress.total_bytes = total->bytes;
        }
        options_.on_progress(progress);
      };
    }
    return transfer;
  }

  // From source to sink while the built-ins run; afterwards all of them have ended, whatever came of it.
  CopyResult run(files::EntrySource& source, files::EntrySink& sink, const files::TransferOptions& transfer,
                 const std::vector<Builtin*>& builtins) {
    const auto cancel_all = [&builtins] {
      for (Builtin* builtin : builtins) builtin->cancel();
    };
    files::Counts counts;
    Result<void> passed;
    {
      const files::NoPipeSignal quiet;
      const std::stop_callback on_stop(stop_, cancel_all);
      passed = files::transfer(source, sink, transfer, counts);
    }
    // What broke off on this side is of no use on the other; but a reader that went away, or a stream that ended
    // early, has a reason of its own.
    theirs_ = !passed && (files::is_reader_gone(passed.error()) || files::is_cut_off(passed.error()));
    for (Builtin* builtin : builtins) builtin->close();
    if (!passed && !theirs_) cancel_all();
    std::optional<Failure> failure;
    if (!passed) failure = passed.error();
    for (Builtin* builtin : builtins) {
      judge(*builtin, failure);
      // What was sent has not all arrived: what did is known there.
      if (builtin->receives() && builtin->report().failure()) counts = builtin->report().before();
    }
    result_.files = counts.files;
    result_.folders = counts.folders;
    result_.links = counts.links;
    result_.bytes = counts.bytes;
    if (stop_.stop_requested() && failure) return failed(files::from_errno("", "wait", ECANCELED));
    if (timed_out_) {
      result_.status = Status::timed_out;
      return finished();
    }
    if (failure) return failed(std::move(*failure));
    result_.status = Status::exited;
    return finished();
  }

  // A link that was not made is not one of the copied ones.
  void count_link_out() { ++links_left_out_; }

 private:
  // What a built-in's end means, when nothing else went wrong before (or only on its account).
  void judge(Builtin& builtin, std::optional<Failure>& failure) {
    const ExecResult& ended = builtin.wait();
    result_.warnings.insert(result_.warnings.end(), ended.warnings.begin(), ended.warnings.end());
    const files::BuiltinReport& said = builtin.report();
    for (const auto& [path, reason] : said.skipped()) {
      if (result_.skipped.size() < kMostSkippedShown) result_.skipped.push_back({path, reason});
    }
    result_.skipped_count += said.done() ? said.done()->skipped : said.skipped().size();
    if (ended.status == Status::timed_out) timed_out_ = true;
    if (failure && !theirs_) return;
    if (ended.status == Status::failed || said.failure()) {
      failure = ended.status == Status::failed ? ended.failure : said.failure();
      theirs_ = false;  // the first reason is the one; the other end only saw what came of it
    } else if (!failure && !is_done(ended, said)) {
      failure = files::broken_stream("", fmt::format("was not brought to its end ({})", how(ended)));
    }
  }

  static bool is_done(const ExecResult& ended, const files::BuiltinReport& said) {
    return ended.status == Status::exited && ended.exit_code == guest::files::kBuiltinDone && said.done();
  }

  static std::string how(const ExecResult& ended) {
    if (ended.status == Status::exited) return fmt::format("exit status {}", ended.exit_code);
    if (ended.status == Status::signaled) return fmt::format("signal {}", ended.signal_number);
    return std::string(to_string(ended.status));
  }

  CopyResult finished() {
    result_.links -= std::min(result_.links, links_left_out_);
    result_.duration = std::chrono::milliseconds((monotonic_now_ns() - began_ns_) / 1'000'000);
    return std::move(result_);
  }

  const CopyOptions& options_;
  std::stop_token stop_;
  std::int64_t began_ns_;
  std::uint64_t links_left_out_ = 0;
  bool timed_out_ = false;
  bool theirs_ = false;  // what is known so far is only that a built-in stopped
  CopyResult result_;
};

}  // namespace

files::Limits copy_limits(const settings::Settings& settings) {
  files::Limits limits;
  limits.entries = plan::count_setting(settings, "files.max_entries").value_or(limits.entries);
  limits.bytes = plan::count_setting(settings, "files.max_bytes").value_or(limits.bytes);
  limits.depth = plan::count_setting(settings, "files.max_depth").value_or(limits.depth);
  return limits;
}

CopyTerms copy_terms(const plan::Plan& plan, const settings::Settings& settings, const Context& context) {
  CopyTerms terms;
  terms.limits = copy_limits(settings);
  terms.places.base = context.process_cwd;
  terms.places.writable_inside = environment::writable_places(plan);
  return terms;
}

CopyResult copy_in(const CopyHost& host, const std::string& local, const CopyPlace& to, const CopyOptions& options,
                   std::stop_token stop) {
  Copy copy(options, std::move(stop));
  auto terms = host.terms(to.where);
  if (!terms) return copy.failed(terms.error());
  auto place = files::find_place(local, terms->places);
  if (!place) return copy.failed(place.error());
  // Before anything of it is sent: what can't be copied is refused by name, and what is too much.
  auto total = files::measure(place->folder.get(), place->name, local, copy.transfer_options(terms->limits));
  if (!total) return copy.failed(total.error());
  auto name = files::name_for_copy(local);
  if (!name) return copy.failed(name.error());
  files::LocalTreeOptions tree_options;
  tree_options.limits = terms->limits;
  tree_options.on_skip = copy.on_skip();
  auto tree = files::LocalTree::open(place->folder.get(), place->name, local, std::move(tree_options));
  if (!tree) return copy.failed(tree.error());
  auto unpack = Builtin::start(host, to.where, {"unpack", to.path, *name}, Builtin::Direction::in);
  if (!unpack) return copy.failed(unpack.error());
  files::TarWriter writer((*unpack)->end());
  return copy.run(**tree, writer, copy.transfer_options(terms->limits, *total), {unpack->get()});
}

CopyResult copy_out(const CopyHost& host, const CopyPlace& from, const std::string& local, const CopyOptions& options,
                    std::stop_token stop) {
  Copy copy(options, std::move(stop));
  auto terms = host.terms(from.where);
  if (!terms) return copy.failed(terms.error());
  auto name = files::name_for_copy(from.path);
  if (!name) return copy.failed(name.error());
  auto target = files::find_target(local, *name, terms->places);
  if (!target) return copy.failed(target.error());
  auto pack = Builtin::start(host, from.where, {"pack", from.path}, Builtin::Direction::out);
  if (!pack) return copy.failed(pack.error());
  files::TarReader reader((*pack)->end(), terms->limits.entries);
  files::LocalTargetOptions target_options;
  target_options.links = options.keep_links ? files::LinkRule::keep_inside : files::LinkRule::skip;
  target_options.shown = target->shown;
  target_options.on_skip = [&copy, skip = copy.on_skip()](const std::string& path, std::string_view reason) {
    copy.count_link_out();
    skip(path, reason);
  };
  files::LocalTarget sink(target->folder.get(), target->name, std::move(target_options));
  return copy.run(reader, sink, copy.transfer_options(terms->limits), {pack->get()});
}

CopyResult copy_between(const CopyHost& host, const CopyPlace& from, const CopyPlace& to, const CopyOptions& options,
                        std::stop_token stop) {
  Copy copy(options, std::move(stop));
  auto terms = host.terms(from.where);
  if (!terms) return copy.failed(terms.error());
  auto name = files::name_for_copy(from.path);
  if (!name) return copy.failed(name.error());
  auto unpack = Builtin::start(host, to.where, {"unpack", to.path, *name}, Builtin::Direction::in);
  if (!unpack) return copy.failed(unpack.error());
  auto pack = Builtin::start(host, from.where, {"pack", from.path}, Builtin::Direction::out);
  if (!pack) return copy.failed(pack.error());
  // Never the bytes themselves: what one environment says is read, and written anew for the other.
  files::TarReader reader((*pack)->end(), terms->limits.entries);
  files::TarWriter writer((*unpack)->end());
  return copy.run(reader, writer, copy.transfer_options(terms->limits), {pack->get(), unpack->get()});
}

}  // namespace exechost::host
