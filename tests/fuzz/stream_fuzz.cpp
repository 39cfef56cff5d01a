// What came out of an environment: entries that stay below their root, in order, or protocol_error; and what the
// built-in says about it. The checksum is put right, so that more than the first block is looked at.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "core/base/unique_fd.hpp"
#include "core/files/builtin_report.hpp"
#include "core/files/tar_reader.hpp"
#include "core/files/transfer.hpp"
#include "guest/files/tar.hpp"

namespace {

using namespace exechost;

class Nowhere final : public files::EntrySink {
 public:
  Result<void> begin(const files::Entry& entry) override {
    if (entry.path.starts_with("/") || entry.path.ends_with("/") || entry.path.find('\0') != std::string::npos)
      std::abort();
    if (("/" + entry.path + "/").find("/../") != std::string::npos) std::abort();
    if ((entry.mode & ~0777U) != 0 || !seen_.insert(entry.path).second) std::abort();
    left_ = entry.size;
    return {};
  }
  Result<void> write(std::string_view bytes) override {
    if (bytes.size() > left_) std::abort();
    left_ -= bytes.size();
    return {};
  }
  Result<void> end() override {
    if (left_ != 0) std::abort();
    return {};
  }
  Result<void> finish() override { return {}; }

 private:
  std::set<std::string> seen_;
  std::uint64_t left_ = 0;
};

void mend(std::string& stream) {
  for (std::size_t at = 0; at + guest::tar::kBlock <= stream.size(); at += guest::tar::kBlock) {
    char* block = stream.data() + at;
    if (std::memcmp(block + 257, "ustar", 5) != 0) continue;
    std::memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (std::size_t i = 0; i < guest::tar::kBlock; ++i) sum += static_cast<unsigned char>(block[i]);
    (void)std::snprintf(block + 148, 8, "%06o", sum);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string stream(reinterpret_cast<const char*>(data), size);
  files::BuiltinReport report("data");
  report.add(stream);
  report.finish();
  mend(stream);
  const UniqueFd fd(::memfd_create("stream", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), stream.data(), stream.size()) != static_cast<ssize_t>(stream.size())) std::abort();
  ::lseek(fd.get(), 0, SEEK_SET);
  files::TransferOptions options;
  options.limits = {1000, 1024UL * 1024, 64};
  files::TarReader reader(fd.get(), options.limits.entries);
  Nowhere nowhere;
  files::Counts counts;
  const auto passed = files::transfer(reader, nowhere, options, counts);
  if (!passed && passed.error().message.empty()) std::abort();
  return 0;
}
