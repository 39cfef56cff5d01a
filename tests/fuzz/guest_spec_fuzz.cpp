// The specification the guest reads: a sealed memfd with any content gives a command or a step
// and an errno, and every pointer it gives can be read.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "guest/spec_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || (size != 0 && write(fd, data, size) != static_cast<ssize_t>(size))) std::abort();
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) std::abort();
  exechost::guest::Spec spec;
  const auto outcome = exechost::guest::read_spec(fd, spec);
  if (!outcome.ok()) {
    if (outcome.error_number == 0) std::abort();
    return 0;
  }
  std::size_t bytes = std::strlen(spec.working_directory);
  for (char** argument = spec.arguments; *argument != nullptr; ++argument) bytes += std::strlen(*argument);
  for (char** variable = spec.environment; *variable != nullptr; ++variable) bytes += std::strlen(*variable);
  for (std::size_t i = 0; i < spec.landlock_rule_count; ++i) bytes += std::strlen(spec.landlock_rules[i].path);
  if (spec.arguments[0] == nullptr || bytes > size) std::abort();
  return 0;
}
