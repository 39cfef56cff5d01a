// A line of what a built-in says: words, numbers, and paths in which every byte but printable ASCII, and '%', is %XX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "guest/files/stream.hpp"
#include "guest/files/tar.hpp"

namespace exechost::guest::files {

class Line {
 public:
  void add(const char* text) {
    const std::size_t length = std::strlen(text);
    if (length_ + length >= sizeof text_) return;
    std::memcpy(text_ + length_, text, length);
    length_ += length;
  }
  void add(std::uint64_t value) {
    char digits[21];
    std::size_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    add(digits + at);
  }
  void add_path(const char* path) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (; *path != 0 && length_ + 4 < sizeof text_; ++path) {
      const auto byte = static_cast<unsigned char>(*path);
      if (byte > ' ' && byte < 0x7f && byte != '%') {
        text_[length_++] = *path;
      } else {
        text_[length_++] = '%';
        text_[length_++] = kDigits[byte >> 4];
        text_[length_++] = kDigits[byte & 15];
      }
    }
  }
  // In one write, so that it is not cut by another's. When nobody listens it is lost.
  void send(int fd) {
    text_[length_++] = '\n';
    write_fully(fd, text_, length_);
  }
  // The errno of the output.
  int put(Output& output) {
    text_[length_++] = '\n';
    return output.add(text_, length_);
  }

 private:
  char text_[3 * (tar::kMaxPath + 1) + 128];
  std::size_t length_ = 0;
};

}  // namespace exechost::guest::files
