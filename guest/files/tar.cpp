#include "guest/files/tar.hpp"

#include <cstring>

namespace exechost::guest::tar {

namespace {

// Where the fields are.
constexpr std::size_t kName = 0;
constexpr std::size_t kMode = 100;
constexpr std::size_t kUser = 108;
constexpr std::size_t kGroup = 116;
constexpr std::size_t kSize = 124;
constexpr std::size_t kTime = 136;
constexpr std::size_t kChecksum = 148;
constexpr std::size_t kType = 156;
constexpr std::size_t kLink = 157;
constexpr std::size_t kMagic = 257;
constexpr char kGnu[] = "ustar  ";  // with its NUL: magic and version in one

constexpr std::size_t kSizeDigits = 12;
constexpr std::uint64_t kLargestOctal = 077777777777;

void put_octal(char* field, std::size_t width, std::uint64_t value) {
  for (std::size_t i = width - 1; i-- > 0;) {
    field[i] = static_cast<char>('0' + (value & 7));
    value >>= 3;
  }
  field[width - 1] = 0;
}

void put_size(char* field, std::uint64_t size) {
  if (size <= kLargestOctal) return put_octal(field, kSizeDigits, size);
  std::memset(field, 0, kSizeDigits);
  field[0] = static_cast<char>(0x80);
  for (std::size_t i = 0; i < sizeof size; ++i) field[kSizeDigits - 1 - i] = static_cast<char>(size >> (8 * i));
}

// Digits, then nothing but blanks and NULs.
bool get_octal(const char* field, std::size_t width, std::uint64_t& value) {
  std::size_t at = 0;
  value = 0;
  while (at < width && field[at] == ' ') ++at;
  const std::size_t first = at;
  for (; at < width && field[at] >= '0' && field[at] <= '7'; ++at)
    value = value * 8 + static_cast<unsigned>(field[at] - '0');
  if (at == first) return false;
  for (; at < width; ++at) {
    if (field[at] != ' ' && field[at] != 0) return false;
  }
  return true;
}

bool get_size(const char* field, std::uint64_t& size) {
  if (static_cast<unsigned char>(field[0]) != 0x80) return get_octal(field, kSizeDigits, size);
  size = 0;
  for (std::size_t i = 1; i < kSizeDigits; ++i) {
    if (i + sizeof size < kSizeDigits && field[i] != 0) return false;
    size = size << 8 | static_cast<unsigned char>(field[i]);
  }
  return size <= static_cast<std::uint64_t>(INT64_MAX);
}

unsigned sum_of(const char* block) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksum && i < kChecksum + 8;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

bool is_known(char type) {
  return type == static_cast<char>(Type::file) || type == static_cast<char>(Type::link) ||
         type == static_cast<char>(Type::folder) || type == static_cast<char>(Type::long_link) ||
         type == static_cast<char>(Type::long_name);
}

bool is_zero(const char* block) {
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (block[i] != 0) return false;
  }
  return true;
}

}  // namespace

void encode(const Header& header, char* block) {
  std::memset(block, 0, kBlock);
  const std::size_t length = ::strnlen(header.name, kShortName);
  std::memcpy(block + kName, header.name, length);
  if (header.type == Type::folder && length < kShortName) block[kName + length] = '/';
  std::memcpy(block + kLink, header.link, ::strnlen(header.link, kShortName));
  put_octal(block + kMode, 8, header.mode & kModeBits);
  put_octal(block + kUser, 8, 0);
  put_octal(block + kGroup, 8, 0);
  put_size(block + kSize, header.size);
  put_octal(block + kTime, 12, 0);
  block[kType] = static_cast<char>(header.type);
  std::memcpy(block + kMagic, kGnu, sizeof kGnu);
  put_octal(block + kChecksum, 7, sum_of(block));
  block[kChecksum + 7] = ' ';
}

Decoded decode(const char* block, Header& header) {
  if (is_zero(block)) return Decoded::end;
  std::uint64_t checksum = 0;
  std::uint64_t mode = 0;
  if (std::memcmp(block + kMagic, kGnu, sizeof kGnu) != 0 || !get_octal(block + kChecksum, 8, checksum) ||
      checksum != sum_of(block) || !is_known(block[kType]) || !get_octal(block + kMode, 8, mode) ||
      !get_size(block + kSize, header.size)) {
    return Decoded::malformed;
  }
  header.type = static_cast<Type>(block[kType]);
  header.mode = static_cast<std::uint32_t>(mode) & kModeBits;
  std::memcpy(header.name, block + kName, kShortName);
  header.name[kShortName] = 0;
  std::memcpy(header.link, block + kLink, kShortName);
  header.link[kShortName] = 0;
  if (header.type == Type::folder) {
    const std::size_t length = std::strlen(header.name);
    if (length > 1 && header.name[length - 1] == '/') header.name[length - 1] = 0;
  }
  const bool has_content =
      header.type == Type::file || header.type == Type::long_name || header.type == Type::long_link;
  return has_content || header.size == 0 ? Decoded::header : Decoded::malformed;
}

bool is_component(const char* name, std::size_t length) {
  if (length == 0 || length > kMaxName) return false;
  if (name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'))) return false;
  return std::memchr(name, '/', length) == nullptr && std::memchr(name, 0, length) == nullptr;
}

bool is_stream_path(const char* path, std::size_t length) {
  if (length < kRootLength || length > kMaxPath || std::memcmp(path, kRoot, kRootLength) != 0) return false;
  if (length == kRootLength) return true;
  if (path[kRootLength] != '/') return false;
  for (std::size_t start = kRootLength + 1;;) {
    const void* slash = std::memchr(path + start, '/', length - start);
    const std::size_t end =
        slash == nullptr ? length : static_cast<std::size_t>(static_cast<const char*>(slash) - path);
    if (!is_component(path + start, end - start)) return false;
    if (slash == nullptr) return true;
    start = end + 1;
  }
}

}  // namespace exechost::guest::tar
