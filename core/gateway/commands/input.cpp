#include "core/gateway/commands/input.hpp"

#include <algorithm>

namespace exechost::gateway {

Result<Input> Input::open(const CommandContext& context, std::string_view operand, Reads reads) {
  if (operand == "-") {
    Input input;
    input.text_ = context.standard_input();
    return input;
  }
  const auto file = context.locate(operand);
  if (!file) return unexpected(file.error());
  return open(context, *file, reads);
}

Result<Input> Input::open(const CommandContext& context, const Located& file, Reads reads) {
  const std::uint64_t most = context.limits().file_bytes;
  if (reads == Reads::whole && file.is_regular() && static_cast<std::uint64_t>(file.status.st_size) > most) {
    return unexpected(too_big(file.shown, most));
  }
  auto content = Content::open(file, most, context.patience());
  if (!content) return unexpected(content.error());
  Input input;
  input.content_.emplace(std::move(*content));
  return input;
}

Result<std::size_t> Input::read_at(std::uint64_t offset, std::span<char> buffer) {
  if (content_) return content_->read_at(offset, buffer);
  const std::string_view rest = text_.substr(std::min<std::uint64_t>(offset, text_.size()));
  const std::size_t count = std::min(rest.size(), buffer.size());
  std::copy_n(rest.begin(), count, buffer.begin());
  return count;
}

std::vector<std::string> operands_or_standard_input(std::vector<std::string> operands) {
  if (operands.empty()) operands.emplace_back("-");
  return operands;
}

bool reads_standard_input(const std::vector<std::string>& operands) {
  return std::find(operands.begin(), operands.end(), "-") != operands.end();
}

}  // namespace exechost::gateway
