// Level 1: bytes of the three streams.
#include <fmt/format.h>

#include "core/conformance/check.hpp"
#include "core/conformance/expect.hpp"
#include "core/conformance/subject.hpp"

namespace exechost::conformance {
namespace {

std::string every_byte(int times) {
  std::string bytes;
  for (int i = 0; i < times * 256; ++i) bytes += static_cast<char>(i % 256);
  return bytes;
}

Request with_input(Subject& subject, const std::string& script, std::string bytes) {
  Request request = subject.script(script);
  request.standard_input.kind = StdinSource::Kind::bytes;
  request.standard_input.bytes = std::move(bytes);
  return request;
}

Verdict bytes_through(Subject& subject) {
  const std::string bytes = every_byte(8) + "no newline at the end";
  return first_failure(
      {exact("cat, all 256 values", subject.run(with_input(subject, "cat", bytes)), bytes),
       exact("cat to stderr", subject.run(with_input(subject, "cat >&2", bytes)), {}, bytes),
       exact("carriage returns", subject.run(with_input(subject, "cat", "a\r\nb\rc\n\n")), "a\r\nb\rc\n\n")});
}

Verdict streams_apart(Subject& subject) {
  return exact("both streams",
               subject.run(subject.script("printf out1; printf err1 >&2; printf out2; printf err2 >&2")), "out1out2",
               "err1err2");
}

Verdict last_bytes(Subject& subject) {
  for (const int size : {1, 2, 511, 512, 4095, 4096, 4097, 65'535, 65'536, 65'537, 131'073, 300'000}) {
    const auto script = fmt::format("head -c {} /dev/zero | tr '\\0' x", size);
    auto verdict = exact(fmt::format("{} bytes and the end", size), subject.run(subject.script(script)),
                         std::string(static_cast<std::size_t>(size), 'x'));
    if (verdict.kind != Verdict::Kind::passed) return verdict;
  }
  return Verdict::passed();
}

Verdict much_output(Subject& subject) {
  constexpr std::uint64_t kBytes = 20'000'000;
  for (const char* redirect : {"", " >&2"}) {
    const ExecResult result =
        subject.run(subject.script(fmt::format("(head -c {} /dev/zero; printf END){}", kBytes, redirect)));
    if (auto verdict = exits_with("20 MB of output", result, 0); verdict.kind != Verdict::Kind::passed) return verdict;
    const CapturedStream& stream = *redirect == '\0' ? result.out : result.err;
    if (stream.total_bytes != kBytes + 3 || !stream.data.ends_with("END"))
      return Verdict::failed(
          fmt::format("{} bytes of {} arrived, at the end {}", stream.total_bytes, kBytes + 3,
                      shown(std::string_view(stream.data)
                                .substr(stream.data.size() - std::min<std::size_t>(8, stream.data.size())))));
  }
  return Verdict::passed();
}

Verdict no_input(Subject& subject) {
  return first_failure(
      {exact("cat without input", subject.run(subject.script("cat; echo over")), "over\n"),
       exact("cat with empty input", subject.run(with_input(subject, "cat; echo over", "")), "over\n")});
}

Verdict much_input(Subject& subject) {
  const std::string bytes = every_byte(20'000);
  return exact("5 MB of input", subject.run(with_input(subject, "wc -c | tr -d ' '", bytes)),
               fmt::format("{}\n", bytes.size()));
}

Verdict input_not_read(Subject& subject) {
  const std::string bytes = every_byte(20'000);
  return first_failure({exact("a command that reads one byte",
                              subject.run(with_input(subject, "head -c 1 | wc -c | tr -d ' '", bytes)), "1\n"),
                        exact("a command that reads nothing",
                              subject.run(with_input(subject, "exec 0<&-; echo done", bytes)), "done\n")});
}

Verdict input_bit_by_bit(Subject& subject) {
  Request request = subject.script("while read -r line; do echo \"got $line\"; done; echo over");
  request.standard_input.kind = StdinSource::Kind::stream;
  auto started = subject.start(request);
  if (!started) return Verdict::failed(started.error().message);
  std::string expected;
  for (int i = 0; i < 5; ++i) {
    const auto line = fmt::format("line {}\n", i);
    if (const auto taken = (*started)->write_stdin(line); !taken || *taken != line.size())
      return Verdict::failed("a line of input is not taken");
    expected += "got " + line;
  }
  (*started)->close_stdin();
  return exact("input line by line", (*started)->wait(), expected + "over\n");
}

Verdict terminal(Subject& subject) {
  if (!subject.claims("pty")) return Verdict::unchecked(subject.not_claimed("pty"));
  Request request = subject.script("test -t 0 && test -t 1 && test -t 2 && stty size");
  request.tty = true;
  request.tty_rows = 33;
  request.tty_columns = 77;
  const ExecResult result = subject.run(request);
  return first_failure(
      {exits_with("stty size", result, 0), same_bytes("size of the terminal", result.out.data, "33 77\r\n")});
}

}  // namespace

std::vector<Check> stream_checks() {
  return {{Level::streams, "streams.bytes", "all 256 byte values pass unchanged", bytes_through},
          {Level::streams, "streams.apart", "stdout and stderr stay apart", streams_apart},
          {Level::streams, "streams.end", "the last bytes arrive, whatever the length", last_bytes},
          {Level::streams, "streams.large", "20 MB of output arrive whole", much_output},
          {Level::streams, "stdin.none", "without input a command reads the end at once", no_input},
          {Level::streams, "stdin.large", "5 MB of input arrive whole, then the end", much_input},
          {Level::streams, "stdin.unread", "input that is not read hinders nobody", input_not_read},
          {Level::streams, "stdin.stream", "input that is written in bits arrives", input_bit_by_bit},
          {Level::streams, "pty", "a terminal is one, with its size", terminal}};
}

}  // namespace exechost::conformance
