#include "core/execution/command_streams.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "core/execution/pipes.hpp"
#include "core/execution/pty.hpp"

namespace exechost::execution {
namespace {

PumpOptions pump_options(const StreamsSpec& spec, StdStream stream) {
  PumpOptions options;
  options.stream = stream;
  options.cap_bytes = spec.cap_bytes;
  options.spill_folder = spec.spill_folder;
  options.on_output = spec.on_output;
  options.sink = stream == StdStream::out ? spec.out : spec.err;
  // A stream that goes to the caller's descriptor and nowhere else is like a pipe between the two.
  options.ends_with_reader = !spec.on_output && spec.spill_folder.empty();
  return options;
}

}  // namespace

Result<std::unique_ptr<CommandStreams>> CommandStreams::create(boost::asio::io_context& context,
                                                               const StreamsSpec& spec) {
  std::unique_ptr<CommandStreams> streams(new CommandStreams);
  auto made = spec.tty ? streams->make_terminal(context, spec) : streams->make_pipes(context, spec);
  if (!made) return unexpected(made.error());
  return streams;
}

CommandStreams::~CommandStreams() {
  stop_input();
  stop_reading();
  abandon_delivery();
}

Result<void> CommandStreams::make_terminal(boost::asio::io_context& context, const StreamsSpec& spec) {
  tty_ = true;
  auto pty = make_pty(spec.rows, spec.columns);
  if (!pty) return unexpected(pty.error());
  UniqueFd for_input(::fcntl(pty->master.get(), F_DUPFD_CLOEXEC, 3));
  UniqueFd for_size(::fcntl(pty->master.get(), F_DUPFD_CLOEXEC, 3));
  if (!for_input || !for_size)
    return unexpected(preparation_failure("pty", "a descriptor could not be duplicated", errno));
  commands_[0] = std::move(pty->slave);
  master_ = std::move(for_size);
  feeder_ = std::make_shared<StdinFeeder>(context, std::move(for_input), true, spec.input);
  out_ = std::make_shared<StreamPump>(context, std::move(pty->master), pump_options(spec, StdStream::out));
  return {};
}

Result<void> CommandStreams::make_pipes(boost::asio::io_context& context, const StreamsSpec& spec) {
  auto out = make_output_pipe();
  if (!out) return unexpected(out.error());
  auto err = make_output_pipe();
  if (!err) return unexpected(err.error());
  if (spec.input.any()) {
    auto in = make_input_pipe();
    if (!in) return unexpected(in.error());
    commands_[0] = std::move(in->commands);
    feeder_ = std::make_shared<StdinFeeder>(context, std::move(in->ours), false, spec.input);
  } else {
    auto null = open_null();
    if (!null) return unexpected(null.error());
    commands_[0] = std::move(*null);
  }
  commands_[1] = std::move(out->commands);
  commands_[2] = std::move(err->commands);
  out_ = std::make_shared<StreamPump>(context, std::move(out->ours), pump_options(spec, StdStream::out));
  err_ = std::make_shared<StreamPump>(context, std::move(err->ours), pump_options(spec, StdStream::err));
  return {};
}

std::array<int, 3> CommandStreams::stdio() const {
  if (tty_) return {commands_[0].get(), commands_[0].get(), commands_[0].get()};
  return {commands_[0].get(), commands_[1].get(), commands_[2].get()};
}

void CommandStreams::close_commands_ends() {
  for (UniqueFd& fd : commands_) fd.reset();
}

void CommandStreams::start_output(const std::function<void()>& on_change) {
  out_->start(on_change);
  if (err_) err_->start(on_change);
}

void CommandStreams::start_input() {
  if (feeder_) feeder_->start();
}

void CommandStreams::stop_input() {
  if (feeder_) feeder_->stop();
}

void CommandStreams::drain() {
  out_->drain();
  if (err_) err_->drain();
}

bool CommandStreams::stop_reading() {
  const bool out_open = out_ && out_->stop_reading();
  const bool err_open = err_ && err_->stop_reading();
  return out_open || err_open;
}

void CommandStreams::abandon_delivery() {
  if (out_) out_->abandon_delivery();
  if (err_) err_->abandon_delivery();
}

bool CommandStreams::reading() const { return out_->reading() || (err_ && err_->reading()); }
bool CommandStreams::delivering() const { return out_->delivering() || (err_ && err_->delivering()); }
bool CommandStreams::held_back() const { return out_->held_back() || (err_ && err_->held_back()); }

Result<void> CommandStreams::resize(std::uint16_t rows, std::uint16_t columns) {
  if (tty_) return resize_pty(master_.get(), rows, columns);
  Failure failure;
  failure.kind = FailureKind::invalid_request;
  failure.phase = Phase::run;
  failure.step = "resize";
  failure.message = "the execution has no terminal to resize";
  failure.hint = "set tty in the request";
  return unexpected(std::move(failure));
}

void CommandStreams::collect(ExecResult& result) {
  const auto take = [&result](StreamPump& pump, CapturedStream& into) {
    into = pump.take();
    for (std::string& warning : pump.warnings()) result.warnings.push_back(std::move(warning));
  };
  take(*out_, result.out);
  if (err_) take(*err_, result.err);
}

}  // namespace exechost::execution
