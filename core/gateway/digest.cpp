#include "core/gateway/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>

namespace exechost::gateway {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  working_ = context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1;
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::add(std::string_view bytes) {
  working_ = working_ && EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1;
}

Result<std::string> Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (!working_ || EVP_DigestFinal_ex(context_, digest.data(), &length) != 1) {
    Failure failure;
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::run;
    failure.message = "libcrypto offers no SHA-256";
    failure.error_number = ENOTSUP;
    failure.step = "hash";
    return unexpected(failure);
  }
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace exechost::gateway
