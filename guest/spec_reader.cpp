#include "guest/spec_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace exechost::guest {

namespace {

struct Record {
  Tag tag;
  const char* bytes;
  std::size_t length;
};

// Walks the records of a mapped specification. next() is false at the end and on malformed input;
// complete() tells which.
class Records {
 public:
  Records(const char* bytes, std::size_t size) : at_(bytes), left_(size) {}

  bool next(Record& record) {
    RecordHeader header{};
    if (left_ < sizeof header) return false;
    std::memcpy(&header, at_, sizeof header);
    if (header.length > left_ - sizeof header) return false;
    record = {static_cast<Tag>(header.tag), at_ + sizeof header, header.length};
    at_ += sizeof header + header.length;
    left_ -= sizeof header + header.length;
    if (record.tag != Tag::end) return true;
    complete_ = record.length == 0 && left_ == 0;
    return false;
  }
  bool complete() const { return complete_; }

 private:
  const char* at_;
  std::size_t left_;
  bool complete_ = false;
};

// How much room everything takes once it is copied out.
struct Sizes {
  std::size_t arguments = 0;
  std::size_t fallback = 0;
  std::size_t descriptors = 0;
  std::uint32_t places = 0;  // a bit for each that is taken
  std::size_t environment = 0;
  std::size_t rules = 0;
  std::size_t limits = 0;
  std::size_t checks = 0;
  std::size_t text = 0;
};

bool equals(const Record& record, const char* text) {
  return record.length == std::strlen(text) && std::memcmp(record.bytes, text, record.length) == 0;
}

bool has_nul(const Record& record) {
  return record.length != 0 && std::memchr(record.bytes, 0, record.length) != nullptr;
}

bool is_path(const Record& record) { return record.length != 0 && record.bytes[0] == '/' && !has_nul(record); }

bool is_variable(const Record& record) {
  if (record.length == 0 || has_nul(record)) return false;
  const void* equals_sign = std::memchr(record.bytes, '=', record.length);
  return equals_sign != nullptr && equals_sign != record.bytes;
}

std::uint32_t u32_at(const Record& record, std::size_t offset) {
  std::uint32_t value = 0;
  std::memcpy(&value, record.bytes + offset, sizeof value);
  return value;
}

bool is_u32(const Record& record, std::uint32_t highest) {
  return record.length == sizeof(std::uint32_t) && u32_at(record, 0) <= highest;
}

constexpr std::size_t kIdentityBytes = 2 * sizeof(std::uint64_t);

// The path after device and inode.
Record path_of_check(const Record& record) {
  return {record.tag, record.bytes + kIdentityBytes, record.length - kIdentityBytes};
}

bool is_view_check(const Record& record) { return record.length > kIdentityBytes && is_path(path_of_check(record)); }

bool is_limit(const Record& record) {
  return record.length == 16 && u32_at(record, 0) < RLIM_NLIMITS && u32_at(record, 4) == 0;
}

bool take_place(const Record& record, Sizes& sizes) {
  if (!is_u32(record, kHighestPlace) || u32_at(record, 0) < kLowestPlace) return false;
  const std::uint32_t bit = 1U << u32_at(record, 0);
  if ((sizes.places & bit) != 0 || sizes.descriptors == kMostFurtherDescriptors) return false;
  sizes.places |= bit;
  ++sizes.descriptors;
  return true;
}

// Tags that may come once only.
bool is_single(Tag tag) {
  return tag == Tag::working_directory || tag == Tag::tty || tag == Tag::seccomp_profile || tag == Tag::landlock ||
         tag == Tag::umask || tag == Tag::unconfined || tag == Tag::inherited;
}

// 0, or the errno that says why this record is refused.
int check(const Record& record, Sizes& sizes) {
  bool valid = false;
  switch (record.tag) {
    case Tag::argument:
      valid = !has_nul(record);
      ++sizes.arguments;
      sizes.text += record.length + 1;
      break;
    case Tag::fallback_argument:
      valid = !has_nul(record);
      ++sizes.fallback;
      sizes.text += record.length + 1;
      break;
    case Tag::descriptor: valid = take_place(record, sizes); break;
    case Tag::environment:
      valid = is_variable(record);
      ++sizes.environment;
      sizes.text += record.length + 1;
      break;
    case Tag::working_directory:
      valid = is_path(record);
      sizes.text += record.length + 1;
      break;
    case Tag::landlock_read:
    case Tag::landlock_write:
      valid = is_path(record);
      ++sizes.rules;
      sizes.text += record.length + 1;
      break;
    case Tag::rlimit:
      valid = is_limit(record);
      ++sizes.limits;
      break;
    case Tag::view_same:
    case Tag::view_other:
      valid = is_view_check(record);
      ++sizes.checks;
      sizes.text += record.length + 1;
      break;
    case Tag::tty:
    case Tag::unconfined:
    case Tag::inherited:
    case Tag::landlock: valid = is_u32(record, 1); break;
    case Tag::umask: valid = is_u32(record, 0777); break;
    case Tag::seccomp_profile: return equals(record, "base") ? 0 : ENOTSUP;
    case Tag::end: break;  // not reached: the walk stops there
  }
  return valid ? 0 : EBADMSG;
}

int measure(const char* bytes, std::size_t size, Sizes& sizes) {
  std::uint32_t seen = 0;
  Records records(bytes, size);
  Record record{};
  while (records.next(record)) {
    if (static_cast<std::uint32_t>(record.tag) > static_cast<std::uint32_t>(Tag::last)) return EBADMSG;
    const std::uint32_t bit = 1U << static_cast<std::uint32_t>(record.tag);
    if (is_single(record.tag) && (seen & bit) != 0) return EBADMSG;
    seen |= bit;
    if (const int error = check(record, sizes); error != 0) return error;
  }
  return records.complete() && sizes.arguments != 0 ? 0 : EBADMSG;
}

// Hands out the parts of one mapped block. The order of the calls keeps everything aligned:
// pointers and structs first, text last.
class Block {
 public:
  bool map(std::size_t size) {
    void* block = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return false;
    next_ = static_cast<char*>(block);
    return true;
  }
  template <class T>
  T* take(std::size_t count) {
    T* part = reinterpret_cast<T*>(next_);
    next_ += count * sizeof(T);
    return part;
  }
  char* copy(const Record& record) {
    char* text = take<char>(record.length + 1);
    std::memcpy(text, record.bytes, record.length);
    text[record.length] = 0;
    return text;
  }

 private:
  char* next_ = nullptr;
};

// The second walk: everything was checked by the first.
bool copy_out(const char* bytes, std::size_t size, const Sizes& sizes, Spec& spec) {
  Block block;
  if (!block.map((sizes.arguments + sizes.fallback + sizes.environment + 3) * sizeof(char*) +
                 sizes.rules * sizeof(LandlockRule) + sizes.limits * sizeof(ResourceLimit) +
                 sizes.checks * sizeof(ViewCheck) + sizes.text)) {
    return false;
  }
  // Null-terminated by themselves: a fresh mapping is zero.
  char** argument = spec.arguments = block.take<char*>(sizes.arguments + 1);
  char** fallback = spec.fallback = block.take<char*>(sizes.fallback + 1);
  char** variable = spec.environment = block.take<char*>(sizes.environment + 1);
  auto* rule = block.take<LandlockRule>(sizes.rules);
  auto* limit = block.take<ResourceLimit>(sizes.limits);
  auto* check = block.take<ViewCheck>(sizes.checks);
  spec.view_checks = check;
  spec.view_check_count = sizes.checks;
  spec.landlock_rules = rule;
  spec.landlock_rule_count = sizes.rules;
  spec.limits = limit;
  spec.limit_count = sizes.limits;

  Records records(bytes, size);
  Record record{};
  while (records.next(record)) {
    switch (record.tag) {
      case Tag::argument: *argument++ = block.copy(record); break;
      case Tag::fallback_argument: *fallback++ = block.copy(record); break;
      case Tag::descriptor: spec.places[spec.place_count++] = static_cast<int>(u32_at(record, 0)); break;
      case Tag::environment: *variable++ = block.copy(record); break;
      case Tag::working_directory: spec.working_directory = block.copy(record); break;
      case Tag::landlock_read:
      case Tag::landlock_write: *rule++ = {block.copy(record), record.tag == Tag::landlock_write}; break;
      case Tag::rlimit:
        limit->resource = u32_at(record, 0);
        std::memcpy(&limit->value, record.bytes + 8, sizeof limit->value);
        ++limit;
        break;
      case Tag::view_same:
      case Tag::view_other:
        check->path = block.copy(path_of_check(record));
        std::memcpy(&check->device, record.bytes, sizeof check->device);
        std::memcpy(&check->inode, record.bytes + sizeof check->device, sizeof check->inode);
        check->same = record.tag == Tag::view_same;
        ++check;
        break;
      case Tag::tty: spec.tty = u32_at(record, 0) == 1; break;
      case Tag::landlock: spec.landlock = u32_at(record, 0) == 1; break;
      case Tag::unconfined: spec.unconfined = u32_at(record, 0) == 1; break;
      case Tag::inherited: spec.inherited = u32_at(record, 0) == 1; break;
      case Tag::umask: spec.umask = u32_at(record, 0); break;
      case Tag::seccomp_profile: spec.seccomp = true; break;
      case Tag::end: break;
    }
  }
  return true;
}

int read_mapped(int fd, Spec& spec) {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  // Anything that is no memfd answers EINVAL here: a pipe or a file can change while it is read.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return EPERM;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (status.st_size <= 0) return EBADMSG;
  if (static_cast<std::uint64_t>(status.st_size) > kMaxSpecBytes) return EFBIG;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return errno;
  const char* bytes = static_cast<const char*>(mapped);
  Sizes sizes;
  int error = measure(bytes, size, sizes);
  if (error == 0 && !copy_out(bytes, size, sizes, spec)) error = ENOMEM;
  ::munmap(mapped, size);
  return error;
}

}  // namespace

Outcome read_spec(int fd, Spec& spec) {
  const int error = read_mapped(fd, spec);
  ::close(fd);
  return error == 0 ? success() : failure(Step::read_spec, error);
}

}  // namespace exechost::guest
