#include "guest/files/report.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "guest/files/tar.hpp"

namespace exechost::guest::files {

namespace {

// Each line in one write, so that none is cut by another's.
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
  void send() {
    text_[length_++] = '\n';
    std::size_t done = 0;
    while (done < length_) {
      const ssize_t count = ::write(2, text_ + done, length_ - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;  // nobody listens
      done += static_cast<std::size_t>(count);
    }
  }

 private:
  char text_[3 * (tar::kMaxPath + 1) + 128];
  std::size_t length_ = 0;
};

}  // namespace

void report_skipped(Totals& totals, const char* reason, const char* path) {
  if (++totals.skipped > kMaxSkippedLines) return;
  Line line;
  line.add("skipped ");
  line.add(reason);
  line.add(" ");
  line.add_path(path);
  line.send();
}

int report_failed(const char* step, int error, const char* path) {
  Line line;
  line.add("failed ");
  line.add(step);
  line.add(" ");
  line.add(static_cast<std::uint64_t>(error));
  line.add(" ");
  line.add_path(path);
  line.send();
  return kBuiltinFailed;
}

int report_done(const Totals& totals) {
  Line line;
  line.add("done");
  for (const std::uint64_t value : {totals.files, totals.folders, totals.links, totals.bytes, totals.skipped}) {
    line.add(" ");
    line.add(value);
  }
  line.send();
  return kBuiltinDone;
}

}  // namespace exechost::guest::files
