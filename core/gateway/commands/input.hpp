// One operand of a command that reads: a file, or standard input for "-".
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/gateway/commands/context.hpp"
#include "core/gateway/content.hpp"

namespace exechost::gateway {

class Input {
 public:
  // A file of more than Limits::file_bytes is only refused here when it is to be read whole.
  enum class Reads { whole, part };
  static Result<Input> open(const CommandContext& context, std::string_view operand, Reads reads);
  static Result<Input> open(const CommandContext& context, const Located& file, Reads reads);

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer);
  std::uint64_t size() const { return content_ ? content_->size() : text_.size(); }
  bool has_hole_behind(std::uint64_t offset) const { return content_ && content_->has_hole_behind(offset); }

  // Calls `take` with piece after piece from `offset` on, until the end or until it returns false.
  template <class Take>
  Result<void> each_piece(std::uint64_t offset, Take&& take) {
    std::vector<char> buffer(kPieceBytes);
    for (;;) {
      const auto count = read_at(offset, buffer);
      if (!count) return unexpected(count.error());
      offset += *count;
      if (*count == 0 || !take(std::string_view(buffer.data(), *count)) || *count < buffer.size()) return {};
    }
  }

 private:
  Input() = default;
  std::optional<Content> content_;
  std::string_view text_;  // standard input
};

// "-" where there are none.
std::vector<std::string> operands_or_standard_input(std::vector<std::string> operands);
bool reads_standard_input(const std::vector<std::string>& operands);

}  // namespace exechost::gateway
