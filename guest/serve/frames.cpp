#include "guest/serve/frames.hpp"

namespace exechost::guest {

namespace {

enum class Number { none, required, any };

struct Shape {
  std::uint32_t shortest;
  std::uint32_t longest;
  Number execution;
  bool keeper;
  bool guest;
  bool stream;
};

constexpr Shape exactly(bool keeper, bool guest, std::uint32_t size, Number execution) {
  return {size, size, execution, keeper, guest, false};
}
// Of a stream.
constexpr Shape of_stream(std::uint32_t shortest, std::uint32_t longest) {
  return {shortest, longest, Number::required, true, true, true};
}

// In the order of FrameType, from 1.
constexpr Shape kShapes[] = {
    exactly(false, true, sizeof(Hello), Number::none),
    exactly(true, false, sizeof(Open), Number::none),
    {1, kMaxPayload, Number::any, true, false, false},
    exactly(true, false, sizeof(Run), Number::required),
    of_stream(1, kMaxPayload),
    of_stream(0, 0),
    of_stream(sizeof(Credit), sizeof(Credit)),
    exactly(true, false, sizeof(TerminalSize), Number::required),
    exactly(true, false, sizeof(Signal), Number::required),
    exactly(true, false, 0, Number::required),
    exactly(true, false, 0, Number::required),
    exactly(true, true, 0, Number::none),
    exactly(false, true, sizeof(Confined), Number::any),
    exactly(false, true, 0, Number::required),
    exactly(false, true, sizeof(Failed), Number::any),
    exactly(false, true, sizeof(Exited), Number::required),
    exactly(false, true, sizeof(Over), Number::required),
};
static_assert(sizeof kShapes / sizeof kShapes[0] == static_cast<std::size_t>(FrameType::last));

// Input's bytes go to the guest and its credit comes back; output and error the other way round. Either end may
// close any of them.
bool is_direction(const FrameHeader& header, Sender sender) {
  const bool input = header.stream == StreamId::input;
  if (header.type == FrameType::data) return input == (sender == Sender::keeper);
  if (header.type == FrameType::credit) return input == (sender == Sender::guest);
  return true;
}

}  // namespace

bool is_valid(const FrameHeader& header, Sender sender) {
  const auto type = static_cast<std::uint32_t>(header.type);
  if (type == 0 || type > static_cast<std::uint32_t>(FrameType::last)) return false;
  const Shape& shape = kShapes[type - 1];
  if (sender == Sender::keeper ? !shape.keeper : !shape.guest) return false;
  if (header.length < shape.shortest || header.length > shape.longest) return false;
  if (static_cast<std::size_t>(header.stream) >= (shape.stream ? kStreams : 1)) return false;
  if (header.execution > kLastExecution) return false;
  if (shape.execution == Number::none && header.execution != 0) return false;
  if (shape.execution == Number::required && header.execution == 0) return false;
  return !shape.stream || is_direction(header, sender);
}

}  // namespace exechost::guest
