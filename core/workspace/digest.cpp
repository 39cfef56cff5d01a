#include "core/workspace/digest.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "core/files/failures.hpp"
#include "core/gateway/digest.hpp"

namespace exechost::workspace {

Result<std::string> digest_of(int fd, std::uint64_t size, const std::string& shown,
                              const std::function<Result<void>(std::string_view)>& also) {
  constexpr std::size_t kChunk = 256UL * 1024;
  const auto buffer = std::make_unique<std::array<char, kChunk>>();
  gateway::Sha256 hash;
  for (;;) {
    const ssize_t count = ::read(fd, buffer->data(), buffer->size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unexpected(files::from_errno(shown, "read", errno));
    if (count == 0) return hash.finish();
    if (static_cast<std::uint64_t>(count) > size) return unexpected(files::from_errno(shown, "read", ESTALE));
    size -= static_cast<std::uint64_t>(count);
    const std::string_view piece(buffer->data(), static_cast<std::size_t>(count));
    hash.add(piece);
    if (also) {
      if (auto done = also(piece); !done) return unexpected(done.error());
    }
  }
}

}  // namespace exechost::workspace
