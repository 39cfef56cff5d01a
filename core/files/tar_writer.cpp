#include "core/files/tar_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/files/failures.hpp"

namespace exechost::files {
namespace {

namespace tar = guest::tar;

constexpr std::string_view kLongName = "././@LongLink";
constexpr std::array<char, 2 * tar::kBlock> kZeros{};

}  // namespace

bool is_reader_gone(const Failure& failure) { return failure.step == "send" && failure.error_number == EPIPE; }

Result<void> TarWriter::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(from_errno(path_, "send", errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> TarWriter::put(tar::Type type, std::string_view name, std::string_view target, std::uint32_t mode,
                            std::uint64_t size) {
  tar::Header header;
  header.type = type;
  header.mode = mode;
  header.size = size;
  name.copy(header.name, tar::kShortName - 1);  // room for a folder's slash
  target.copy(header.link, tar::kShortName);
  std::array<char, tar::kBlock> block{};
  tar::encode(header, block.data());
  return send({block.data(), block.size()});
}

Result<void> TarWriter::begin(const Entry& entry) {
  path_ = entry.path;
  size_ = entry.size;
  std::string name(static_cast<const char*>(tar::kRoot));
  if (!entry.path.empty()) name.append("/").append(entry.path);
  if (name.size() > tar::kMaxPath || entry.target.size() > tar::kMaxPath) {
    return unexpected(from_errno(entry.path, "send", ENAMETOOLONG));
  }
  const auto put_long = [&](tar::Type type, std::string text) -> Result<void> {
    text.push_back('\0');
    const std::uint64_t size = text.size();
    text.append(static_cast<std::size_t>(tar::padding(size)), '\0');
    if (auto put_header = put(type, kLongName, {}, 0, size); !put_header) return put_header;
    return send(text);
  };
  if (name.size() >= tar::kShortName) {
    if (auto done = put_long(tar::Type::long_name, name); !done) return done;
  }
  if (entry.target.size() > tar::kShortName) {
    if (auto done = put_long(tar::Type::long_link, entry.target); !done) return done;
  }
  switch (entry.kind) {
    case Kind::folder: return put(tar::Type::folder, name, {}, entry.mode, 0);
    case Kind::link: return put(tar::Type::link, name, entry.target, entry.mode, 0);
    case Kind::file: break;
  }
  return put(tar::Type::file, name, {}, entry.mode, entry.size);
}

Result<void> TarWriter::write(std::string_view bytes) { return send(bytes); }

Result<void> TarWriter::end() { return send({kZeros.data(), static_cast<std::size_t>(tar::padding(size_))}); }

Result<void> TarWriter::finish() { return send({kZeros.data(), kZeros.size()}); }

}  // namespace exechost::files
