#include "core/plugin/elf_check.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/plugin/failures.hpp"

namespace exechost::plugin {
namespace {

constexpr std::size_t kMaxProgramHeaders = 128;
constexpr std::uint64_t kMaxDynamicBytes = 1024UL * 1024;

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr std::uint16_t kMachine = EM_RISCV;
#else
#error "name this machine's ELF number here"
#endif

bool read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset) {
  auto* bytes = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t count = ::pread(fd, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool inside(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

bool runs_constructors(int fd, const ElfW(Phdr) & dynamic) {
  std::vector<ElfW(Dyn)> entries(dynamic.p_filesz / sizeof(ElfW(Dyn)));
  if (!read_at(fd, entries.data(), entries.size() * sizeof(ElfW(Dyn)), dynamic.p_offset)) return true;
  for (const ElfW(Dyn) & entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_INIT_ARRAYSZ && entry.d_un.d_val > sizeof(ElfW(Addr))) return true;
  }
  return false;
}

}  // namespace

Result<ElfFacts> check_elf(int fd, const std::string& path) {
  const std::string hint = "a plugin is a shared library built for this machine";
  struct stat status {};
  if (::fstat(fd, &status) != 0) return unexpected(refused(path, "can't be examined", {}, errno));
  const auto size = static_cast<std::uint64_t>(status.st_size);

  ElfW(Ehdr) header{};
  if (!read_at(fd, &header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return unexpected(refused(path, "is not an ELF file", hint));
  }
  constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != kClass || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine) {
    return unexpected(refused(path, fmt::format("is for another machine (ELF machine {})", header.e_machine), hint));
  }
  if (header.e_type != ET_DYN) return unexpected(refused(path, "is an ELF file but not a shared library", hint));
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 || header.e_phnum > kMaxProgramHeaders ||
      !inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(ElfW(Phdr)), size)) {
    return unexpected(refused(path, "has broken ELF headers", hint));
  }
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  if (!read_at(fd, segments.data(), segments.size() * sizeof(ElfW(Phdr)), header.e_phoff)) {
    return unexpected(refused(path, "has broken ELF headers", hint));
  }
  ElfFacts facts;
  bool dynamic = false;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    if (!inside(segment.p_offset, segment.p_filesz, size)) {
      return unexpected(refused(path, "is cut off: it is shorter than its ELF headers say", "install it again"));
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_filesz > kMaxDynamicBytes) return unexpected(refused(path, "has broken ELF headers", hint));
    dynamic = true;
    facts.has_constructors = runs_constructors(fd, segment);
  }
  if (!dynamic) return unexpected(refused(path, "is an ELF file but not a shared library", hint));
  return facts;
}

}  // namespace exechost::plugin
