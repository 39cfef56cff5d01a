#include "core/files/tar_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"

namespace exechost::files {
namespace {

namespace tar = guest::tar;

constexpr std::size_t kMostTrailing = 20 * tar::kBlock;  // other writers fill up to a record

}  // namespace

Result<void> TarReader::take(char* bytes, std::size_t size) {
  while (size != 0) {
    const ssize_t count = ::read(fd_, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(from_errno(name_, "read", errno));
    if (count == 0) return unexpected(cut_off(name_));
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> TarReader::pass_over_content() {
  std::array<char, 16384> ignored{};
  left_ += std::exchange(padding_, 0);
  while (left_ != 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left_, ignored.size()));
    if (auto taken = take(ignored.data(), part); !taken) return taken;
    left_ -= part;
  }
  return {};
}

Result<void> TarReader::long_text(const tar::Header& header, std::string& text) {
  if (!text.empty()) return unexpected(broken_stream(name_, "is followed by two long names at once"));
  if (header.size < 2 || header.size > tar::kMaxPath + 1)
    return unexpected(broken_stream(name_, "is followed by a name of impossible length"));
  text.resize(static_cast<std::size_t>(header.size + tar::padding(header.size)));
  if (auto taken = take(text.data(), text.size()); !taken) return taken;
  text.resize(static_cast<std::size_t>(header.size));
  if (text.find('\0') != text.size() - 1)
    return unexpected(broken_stream(name_, "is followed by a name with a NUL byte in it"));
  text.pop_back();
  return {};
}

// False at the end of the stream.
Result<bool> TarReader::next_header(tar::Header& header, std::string& name, std::string& target) {
  for (;;) {
    std::array<char, tar::kBlock> block{};
    if (auto taken = take(block.data(), block.size()); !taken) return unexpected(taken.error());
    switch (tar::decode(block.data(), header)) {
      case tar::Decoded::malformed:
        return unexpected(broken_stream(name_, "is followed by something that is no entry of a kind that is taken"));
      case tar::Decoded::end:
        if (!name.empty() || !target.empty())
          return unexpected(broken_stream(name_, "is followed by a name of nothing"));
        return false;
      case tar::Decoded::header: break;
    }
    if (header.type != tar::Type::long_name && header.type != tar::Type::long_link) break;
    if (auto text = long_text(header, header.type == tar::Type::long_name ? name : target); !text) {
      return unexpected(text.error());
    }
  }
  if (name.empty()) name = static_cast<const char*>(header.name);
  if (target.empty()) target = static_cast<const char*>(header.link);
  return true;
}

Result<void> TarReader::end_of_stream() {
  ended_ = true;
  if (!seen_root_) return unexpected(broken_stream("", "holds nothing"));
  std::array<char, tar::kBlock> block{};
  tar::Header ignored;
  if (auto taken = take(block.data(), block.size()); !taken) return taken;
  if (tar::decode(block.data(), ignored) != tar::Decoded::end) {
    return unexpected(broken_stream(name_, "is followed by something behind the end"));
  }
  for (std::size_t trailing = 0;;) {
    const ssize_t count = ::read(fd_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(from_errno(name_, "read", errno));
    if (count == 0) return {};
    trailing += static_cast<std::size_t>(count);
    const bool zeros = std::all_of(block.begin(), block.begin() + count, [](char byte) { return byte == 0; });
    if (!zeros || trailing > kMostTrailing) {
      return unexpected(broken_stream(name_, "is followed by something behind the end"));
    }
  }
}

// In a folder that is open, under a name that is new there.
Result<void> TarReader::admit(const std::string& name, bool folder) {
  if (!tar::is_stream_path(name.data(), name.size())) {
    return unexpected(broken_stream(name, "is not a path below what was asked for"));
  }
  if (++entries_ > most_entries_) return unexpected(over_limit(name, "files.max_entries", most_entries_));
  const bool is_root = name.size() == tar::kRootLength;
  if (is_root == seen_root_) {
    return unexpected(broken_stream(name, is_root ? "comes twice" : "comes before what it is in"));
  }
  seen_root_ = true;
  if (!is_root) {
    const std::string parent = parent_path(name);
    while (!open_.empty() && open_.back().path != parent) open_.pop_back();
    if (open_.empty()) return unexpected(broken_stream(name, "is in something that is no folder, or not at its place"));
    if (!open_.back().names.insert(last_name(name)).second) return unexpected(broken_stream(name, "comes twice"));
  }
  if (folder) {
    if (open_.size() > static_cast<std::size_t>(tar::kMaxDepth)) return unexpected(broken_stream(name, "is too deep"));
    open_.push_back({name, {}});
  }
  return {};
}

Result<bool> TarReader::next(Entry& entry) {
  if (ended_) return false;
  if (auto passed = pass_over_content(); !passed) return unexpected(passed.error());
  tar::Header header;
  std::string name;
  std::string target;
  auto found = next_header(header, name, target);
  if (!found) return unexpected(found.error());
  if (!*found) {
    if (auto ended = end_of_stream(); !ended) return unexpected(ended.error());
    return false;
  }
  if (auto admitted = admit(name, header.type == tar::Type::folder); !admitted) return unexpected(admitted.error());
  entry = {};
  entry.path = name.size() == tar::kRootLength ? std::string() : name.substr(tar::kRootLength + 1);
  entry.mode = header.mode;
  if (header.type == tar::Type::folder) {
    entry.kind = Kind::folder;
  } else if (header.type == tar::Type::link) {
    if (target.empty() || entry.path.empty())
      return unexpected(broken_stream(name, "is a link to nothing, or the root"));
    entry.kind = Kind::link;
    entry.target = std::move(target);
  } else {
    entry.size = left_ = header.size;
    padding_ = tar::padding(header.size);
  }
  name_ = std::move(name);
  return true;
}

Result<std::size_t> TarReader::read(char* buffer, std::size_t size) {
  const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  if (part == 0) return 0;
  if (auto taken = take(buffer, part); !taken) return unexpected(taken.error());
  left_ -= part;
  return part;
}

}  // namespace exechost::files
