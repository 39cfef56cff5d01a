#include "core/plugin/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "core/plugin/failures.hpp"

namespace exechost::plugin {

Result<std::string> sha256_of(int fd, const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    return unexpected(refused(path, "can't be hashed: libcrypto offers no SHA-256"));
  }
  std::vector<char> buffer(256UL * 1024);
  unsigned long long offset = 0;
  for (;;) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      return unexpected(refused(path, "can't be read: " + std::generic_category().message(error), {}, error));
    }
    if (count == 0) break;
    offset += static_cast<unsigned long long>(count);
    if (offset > kMaxLibraryBytes) {
      return unexpected(refused(path, fmt::format("is larger than {} bytes", kMaxLibraryBytes)));
    }
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(count));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_DigestFinal_ex(context.get(), digest.data(), &length) != 1) {
    return unexpected(refused(path, "can't be hashed: libcrypto failed"));
  }
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace exechost::plugin
