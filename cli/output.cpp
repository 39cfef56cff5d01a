#include "cli/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/utf8.hpp"

namespace exechost::cli {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // somebody made the shared file description non-blocking
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

int print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return 0;
  print_note(std::string("can't write to standard output: ") + std::strerror(errno));
  return 1;
}

void print_note(std::string_view text) { write_all(STDERR_FILENO, "exechost: " + escape_for_terminal(text) + "\n"); }

void print_warning(std::string_view text) {
  write_all(STDERR_FILENO, "exechost: warning: " + escape_for_terminal(text) + "\n");
}

void print_failure(const Failure& failure) {
  print_note(failure.message.empty() ? std::string(to_string(failure.kind)) : failure.message);
  if (!failure.hint.empty()) print_note("hint: " + failure.hint);
}

}  // namespace exechost::cli
