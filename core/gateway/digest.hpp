// SHA-256 of bytes that come in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exechost/failure.hpp"

struct evp_md_ctx_st;

namespace exechost::gateway {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  // Lower-case hex of everything added; once. `unavailable` when libcrypto offers no SHA-256.
  Result<std::string> finish();

 private:
  evp_md_ctx_st* context_ = nullptr;
  bool working_ = false;
};

}  // namespace exechost::gateway
