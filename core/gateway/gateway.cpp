#include "exechost/gateway.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/gateway/content.hpp"
#include "core/gateway/digest.hpp"
#include "core/gateway/failures.hpp"
#include "core/gateway/folder.hpp"
#include "core/gateway/operations.hpp"
#include "core/gateway/parts.hpp"

namespace exechost::gateway {

Result<Gateway> Gateway::open(Policy policy) {
  auto places = Places::open(policy);
  if (!places) return unexpected(places.error());
  return Gateway(std::make_shared<const Parts>(std::move(policy), std::move(*places)));
}

Result<FileContent> Gateway::read_file(std::string_view path, const ReadRange& range, const Patience& patience) const {
  auto file = parts_->locate(path, {}, FinalLink::follow, patience);
  if (!file) return unexpected(file.error());
  const std::uint64_t limit = std::min(range.limit.value_or(UINT64_MAX), parts_->policy.limits.read_bytes);
  auto content = Content::open(*file, UINT64_MAX, patience);
  if (!content) return unexpected(content.error());

  FileContent result;
  result.total_bytes = content->size();
  if (range.offset > static_cast<std::uint64_t>(INT64_MAX) - limit) {
    return unexpected(unfit(path, "has no such offset", EINVAL));
  }
  // Not the whole limit at once: it can be far more than the file has. One byte more tells whether
  // the file goes on.
  while (result.bytes.size() <= limit) {
    const std::size_t before = result.bytes.size();
    const std::size_t piece = static_cast<std::size_t>(std::min<std::uint64_t>(limit + 1 - before, kPieceBytes));
    result.bytes.resize(before + piece);
    const auto count = content->read_at(range.offset + before, std::span<char>(result.bytes).subspan(before));
    if (!count) return unexpected(count.error());
    result.bytes.resize(before + *count);
    if (*count < piece) break;
  }
  if (result.bytes.size() > limit) {
    result.bytes.resize(static_cast<std::size_t>(limit));
    result.truncated = true;
  }
  return result;
}

Result<void> Gateway::write_file(std::string_view path, std::string_view bytes, const WriteOptions& options,
                                 const Patience& patience) const {
  return gateway::write_file(*parts_, path, bytes, options, patience);
}

Result<FolderListing> Gateway::list_dir(std::string_view path, const Patience& patience) const {
  auto folder = parts_->locate(path, {}, FinalLink::follow, patience);
  if (!folder) return unexpected(folder.error());
  auto contents = read_folder(parts_->rules, *folder, parts_->policy.limits.folder_entries, patience);
  if (!contents) return unexpected(contents.error());
  sort_by_name(contents->entries);
  return FolderListing{std::move(contents->entries), contents->truncated};
}

Result<FileInfo> Gateway::stat(std::string_view path, bool follow_link, const Patience& patience) const {
  constexpr mode_t kModeBits = 07777;
  const auto file = parts_->locate(path, {}, follow_link ? FinalLink::follow : FinalLink::keep, patience);
  if (!file) return unexpected(file.error());
  const struct stat& status = file->status;
  FileInfo info;
  info.kind = kind_of(status.st_mode);
  info.size = static_cast<std::uint64_t>(status.st_size);
  info.mode = status.st_mode & kModeBits;
  info.uid = status.st_uid;
  info.gid = status.st_gid;
  info.links = status.st_nlink;
  info.inode = status.st_ino;
  info.modified = std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  return info;
}

Result<FindResult> Gateway::find(std::string_view start, const FindOptions& options, const Patience& patience) const {
  return gateway::find(*parts_, start, options, patience);
}

Result<SearchResult> Gateway::search(std::string_view start, const SearchOptions& options,
                                     const Patience& patience) const {
  return gateway::search(*parts_, start, options, patience);
}

Result<std::string> Gateway::sha256(std::string_view path, const Patience& patience) const {
  const auto file = parts_->locate(path, {}, FinalLink::follow, patience);
  if (!file) return unexpected(file.error());
  const std::uint64_t most = parts_->policy.limits.file_bytes;
  if (file->is_regular() && static_cast<std::uint64_t>(file->status.st_size) > most) {
    return unexpected(too_big(path, most));
  }
  auto content = Content::open(*file, most, patience);
  if (!content) return unexpected(content.error());
  Sha256 hash;
  std::vector<char> buffer(kPieceBytes);
  for (std::uint64_t offset = 0;;) {
    const auto count = content->read_at(offset, buffer);
    if (!count) return unexpected(count.error());
    hash.add({buffer.data(), *count});
    offset += *count;
    if (*count < buffer.size()) return hash.finish();
  }
}

}  // namespace exechost::gateway
