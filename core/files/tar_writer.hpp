// A stream for a guest to unpack, as the end of a transfer.
#pragma once

#include <string>

#include "core/files/entry.hpp"
#include "guest/files/tar.hpp"

namespace exechost::files {

class TarWriter final : public EntrySink {
 public:
  // Writes to `fd`, blocking; it stays the caller's. A reader that is gone is EPIPE: SIGPIPE has to be held back.
  explicit TarWriter(int fd) : fd_(fd) {}

  Result<void> begin(const Entry& entry) override;
  Result<void> write(std::string_view bytes) override;
  Result<void> end() override;
  Result<void> finish() override;

 private:
  Result<void> send(std::string_view bytes);
  Result<void> put(guest::tar::Type type, std::string_view name, std::string_view target, std::uint32_t mode,
                   std::uint64_t size);

  int fd_;
  std::string path_;
  std::uint64_t size_ = 0;
};

// The failure that means that whoever reads has gone: why, it says itself.
bool is_reader_gone(const Failure& failure);

}  // namespace exechost::files
