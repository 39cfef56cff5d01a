// Host tool of the build: turns policy.hpp into BPF programs, one per architecture, and writes
// them as a C++ header to the file named by its only argument. So the guest needs no libseccomp,
// and starting a command compiles nothing.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "guest/seccomp/policy.hpp"

namespace {

using exechost::guest::seccomp::Condition;
using exechost::guest::seccomp::kBase;
using exechost::guest::seccomp::Rule;

constexpr std::uint64_t kLow32 = 0xffffffffULL;
constexpr std::uint64_t kSocketTypeMask = 0xf;

struct Target {
  std::uint32_t architecture;
  const char* constant;
};

[[noreturn]] void die(const std::string& what, int error) {
  std::cerr << "seccomp policy: " << what << ": " << std::strerror(error) << '\n';
  std::exit(1);
}

// Of open's mode, and of the flags before it.
std::vector<scmp_arg_cmp> both_bits(const Rule& rule, std::uint64_t flag) {
  return {SCMP_CMP64(rule.argument - 1, SCMP_CMP_MASKED_EQ, flag, flag),
          SCMP_CMP64(rule.argument, SCMP_CMP_MASKED_EQ, rule.value, rule.value)};
}

std::vector<scmp_arg_cmp> comparisons(const Rule& rule) {
  switch (rule.condition) {
    case Condition::always: return {};
    case Condition::argument_has_bit: return {SCMP_CMP64(rule.argument, SCMP_CMP_MASKED_EQ, rule.value, rule.value)};
    case Condition::argument_low_equals: return {SCMP_CMP64(rule.argument, SCMP_CMP_MASKED_EQ, kLow32, rule.value)};
    case Condition::family_below: return {SCMP_CMP64(rule.argument, SCMP_CMP_LT, rule.value)};
    case Condition::family_equals: return {SCMP_CMP64(rule.argument, SCMP_CMP_EQ, rule.value)};
    case Condition::family_above: return {SCMP_CMP64(rule.argument, SCMP_CMP_GT, rule.value)};
    case Condition::creates_with_bit: return both_bits(rule, exechost::guest::seccomp::kCreate);
    case Condition::unnamed_with_bit: return both_bits(rule, exechost::guest::seccomp::kUnnamed);
    case Condition::unix_pair_type:
      return {SCMP_CMP64(0, SCMP_CMP_EQ, exechost::guest::seccomp::kAfUnix),
              SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, kSocketTypeMask, rule.value)};
  }
  die("unknown condition", EINVAL);
}

// System calls that libseccomp does not know yet, looked at before its program: refused by
// number alone. Their numbers are above 423, where all architectures agree.
void append_by_number(std::vector<sock_filter>& program, const Rule& rule) {
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(rule.number), 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(rule.error_number)));
}

void append_export(std::vector<sock_filter>& program, scmp_filter_ctx filter) {
  const int fd = memfd_create("filter", MFD_CLOEXEC);
  if (fd < 0) die("memfd_create", errno);
  if (const int error = seccomp_export_bpf(filter, fd); error != 0) die("export", -error);
  const off_t size = lseek(fd, 0, SEEK_END);
  std::vector<sock_filter> exported(static_cast<std::size_t>(size) / sizeof(sock_filter));
  if (pread(fd, exported.data(), static_cast<std::size_t>(size), 0) != size) die("read", errno);
  close(fd);
  program.insert(program.end(), exported.begin(), exported.end());
}

std::vector<sock_filter> compile(const Target& target) {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!filter) die("seccomp_init", ENOMEM);
  // Also what a number of the x32 calling convention gets on x86_64.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (target.architecture != seccomp_arch_native()) {
    if (const int error = seccomp_arch_add(filter.get(), target.architecture); error != 0) die("add arch", -error);
    if (const int error = seccomp_arch_remove(filter.get(), SCMP_ARCH_NATIVE); error != 0) die("drop arch", -error);
  }
  std::vector<sock_filter> program;
  for (const Rule& rule : kBase) {
    // Resolved as the building machine numbers it; libseccomp translates to the target's number and
    // ignores what the target does not have.
    const int number = seccomp_syscall_resolve_name(rule.syscall);
    if (number == __NR_SCMP_ERROR) {
      if (rule.number < 0 || rule.condition != Condition::always)
        die(std::string("unknown call ") + rule.syscall, ENOSYS);
      append_by_number(program, rule);
      continue;
    }
    const auto arguments = comparisons(rule);
    const int error =
        seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(static_cast<std::uint32_t>(rule.error_number)), number,
                               static_cast<unsigned>(arguments.size()), arguments.data());
    if (error != 0) die(std::string("rule for ") + rule.syscall, -error);
  }
  append_export(program, filter.get());
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) die("usage: compile OUTPUT", EINVAL);
  std::ofstream out(argv[1]);
  out << "// Generated from guest/seccomp/policy.hpp.\n#pragma once\n#include <linux/filter.h>\n"
         "namespace exechost::guest::seccomp {\n";
  for (const Target& target : {Target{SCMP_ARCH_X86_64, "kBaseX86_64"}, Target{SCMP_ARCH_AARCH64, "kBaseAarch64"}}) {
    out << "inline constexpr sock_filter " << target.constant << "[] = {\n";
    for (const sock_filter& line : compile(target)) {
      out << "    {" << line.code << ", " << int{line.jt} << ", " << int{line.jf} << ", " << line.k << "U},\n";
    }
    out << "};\n";
  }
  out << "}  // namespace exechost::guest::seccomp\n";
  out.close();
  if (!out) die(argv[1], EIO);
  return 0;
}
