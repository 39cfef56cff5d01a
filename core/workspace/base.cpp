#include "core/workspace/base.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"

namespace exechost::workspace {
namespace {

using nlohmann::json;

constexpr const char* kName = "base";
constexpr int kVersion = 1;

json bytes(const std::string& text) { return json::binary({text.begin(), text.end()}); }
std::string text(const json& value) {
  const auto& binary = value.get_binary();
  return {binary.begin(), binary.end()};
}

json to_json(const Identity& identity) {
  return {identity.inode, identity.size, identity.changed_ns, identity.touched_ns};
}
Identity identity_from(const json& value) {
  return {value.at(0).get<std::uint64_t>(), value.at(1).get<std::uint64_t>(), value.at(2).get<std::int64_t>(),
          value.at(3).get<std::int64_t>()};
}

Base parse(const json& document) {
  Base base;
  if (document.at("version").get<int>() != kVersion) throw std::out_of_range("another version wrote it");
  base.workspace = text(document.at("workspace"));
  base.device = document.at("device").get<std::uint64_t>();
  base.inode = document.at("inode").get<std::uint64_t>();
  for (const json& value : document.at("records")) {
    Record record;
    const int kind = value.at(1).get<int>();
    if (kind < 0 || kind > static_cast<int>(files::Kind::link)) throw std::out_of_range("an unknown kind");
    record.kind = static_cast<files::Kind>(kind);
    record.mode = value.at(2).get<std::uint32_t>();
    record.sha256 = text(value.at(3));
    record.target = text(value.at(4));
    record.original = identity_from(value.at(5));
    record.copy = identity_from(value.at(6));
    base.records.emplace(text(value.at(0)), std::move(record));
  }
  return base;
}

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Identity identity_of(const struct stat& status) {
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

Result<void> save(const Base& base, int folder) {
  json records = json::array();
  for (const auto& [path, record] : base.records) {
    records.push_back({bytes(path), static_cast<int>(record.kind), record.mode, bytes(record.sha256),
                       bytes(record.target), to_json(record.original), to_json(record.copy)});
  }
  const std::vector<std::uint8_t> document = json::to_cbor({{"version", kVersion},
                                                            {"workspace", bytes(base.workspace)},
                                                            {"device", base.device},
                                                            {"inode", base.inode},
                                                            {"records", std::move(records)}});
  const std::string temporary = files::temporary_name();
  UniqueFd fd(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return unexpected(files::from_errno("the copy's record", "create", errno));
  for (std::size_t done = 0; done < document.size();) {
    const ssize_t count = ::write(fd.get(), document.data() + done, document.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::unlinkat(folder, temporary.c_str(), 0);
      return unexpected(files::from_errno("the copy's record", "write", error));
    }
    done += static_cast<std::size_t>(count);
  }
  if (::renameat(folder, temporary.c_str(), folder, kName) != 0) {
    const int error = errno;
    ::unlinkat(folder, temporary.c_str(), 0);
    return unexpected(files::from_errno("the copy's record", "rename", error));
  }
  return {};
}

Result<Base> load(int folder) {
  const UniqueFd fd(::openat(folder, kName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return unexpected(files::from_errno("the copy's record", "open", errno));
  std::vector<std::uint8_t> document;
  for (;;) {
    constexpr std::size_t kChunk = 256UL * 1024;
    const std::size_t before = document.size();
    document.resize(before + kChunk);
    ssize_t count = 0;
    do {
      count = ::read(fd.get(), document.data() + before, kChunk);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return unexpected(files::from_errno("the copy's record", "read", errno));
    document.resize(before + static_cast<std::size_t>(count));
    if (count == 0) break;
  }
  try {
    return parse(json::from_cbor(document));
  } catch (const std::exception& error) {  // json's own, and at()'s
    Failure failure = files::unfit("the copy's record", std::string("is damaged: ") + error.what(), EBADMSG,
                                   "throw the copy away (exechost apply --discard)");
    return unexpected(failure);
  }
}

}  // namespace exechost::workspace
