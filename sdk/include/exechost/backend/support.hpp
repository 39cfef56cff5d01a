// Small things every backend needs. Included by backend.hpp.
#ifndef EXECHOST_BACKEND_SUPPORT_HPP
#define EXECHOST_BACKEND_SUPPORT_HPP

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/plugin.h"

namespace exechost::sdk {
inline namespace v1 {

inline eh_str to_eh(std::string_view text) noexcept { return eh_str{text.data(), text.size()}; }
inline std::string_view to_view(eh_str text) noexcept {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, static_cast<std::size_t>(text.len));
}

// Owns one file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Text as a JSON string, quotes included. For answers made by hand (json_string reads one). `text` has
// to be UTF-8.
inline std::string json_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace v1
}  // namespace exechost::sdk

#endif
