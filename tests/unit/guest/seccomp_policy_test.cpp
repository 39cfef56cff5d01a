// The compiled filters, interpreted: the programs of every architecture do what the policy says,
// whatever machine runs the test.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "guest/seccomp/policy.hpp"
#include "seccomp_filters.hpp"

namespace exechost::guest::seccomp {
namespace {

struct Architecture {
  const char* name;
  std::uint32_t audit;
  std::uint32_t libseccomp;
  std::span<const sock_filter> program;
};
const Architecture kArchitectures[] = {
    {"x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, kBaseX86_64},
    {"aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, kBaseAarch64},
};

constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
std::uint32_t refused(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

// The classic BPF that seccomp accepts, as far as filters use it. Anything else fails the test.
std::uint32_t run(std::span<const sock_filter> program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& line = program[at];
    switch (line.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (line.k + 4 > sizeof data || line.k % 4 != 0) return ADD_FAILURE() << "load at " << line.k, 0;
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + line.k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K: accumulator &= line.k; break;
      case BPF_JMP | BPF_JA: at += line.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: at += accumulator == line.k ? line.jt : line.jf; break;
      case BPF_JMP | BPF_JGT | BPF_K: at += accumulator > line.k ? line.jt : line.jf; break;
      case BPF_JMP | BPF_JGE | BPF_K: at += accumulator >= line.k ? line.jt : line.jf; break;
      case BPF_JMP | BPF_JSET | BPF_K: at += (accumulator & line.k) != 0 ? line.jt : line.jf; break;
      case BPF_RET | BPF_K: return line.k;
      default: ADD_FAILURE() << "unknown instruction " << line.code << " at " << at; return 0;
    }
  }
  ADD_FAILURE() << "ran off the end";
  return 0;
}

struct Arguments {
  std::uint64_t values[6] = {};
};

std::uint32_t decide(const Architecture& architecture, int number, const Arguments& arguments = {}) {
  seccomp_data data{};
  data.nr = number;
  data.arch = architecture.audit;
  std::memcpy(data.args, arguments.values, sizeof data.args);
  return run(architecture.program, data);
}

// Nothing when the architecture has no such call.
std::optional<int> number_of(const Architecture& architecture, const char* name) {
  const int number = seccomp_syscall_resolve_name_arch(architecture.libseccomp, name);
  return number >= 0 ? std::optional(number) : std::nullopt;
}

int must_number(const Architecture& architecture, const char* name) {
  const auto number = number_of(architecture, name);
  EXPECT_TRUE(number) << architecture.name << " " << name;
  return number.value_or(-1);
}

// Arguments that satisfy a rule, with junk wherever the rule does not look.
Arguments satisfying(const Rule& rule) {
  Arguments arguments;
  for (auto& value : arguments.values) value = 0xdeadbeefcafe0000ULL;
  std::uint64_t& value = arguments.values[rule.argument];
  switch (rule.condition) {
    case Condition::always: break;
    case Condition::argument_has_bit: value |= rule.value; break;
    case Condition::argument_low_equals: value = 0xffffffff00000000ULL | rule.value; break;
    case Condition::family_below: value = rule.value - 1; break;
    case Condition::family_equals: value = rule.value; break;
    case Condition::family_above: value = 0x0000000100000000ULL | rule.value; break;
    case Condition::creates_with_bit:
      value |= rule.value;
      arguments.values[rule.argument - 1] |= kCreate;
      break;
    case Condition::unnamed_with_bit:
      value |= rule.value;
      arguments.values[rule.argument - 1] |= kUnnamed;
      break;
    case Condition::unix_pair_type:
      arguments.values[0] = kAfUnix;
      arguments.values[1] = 0xfffffffffffffff0ULL | rule.value;
      break;
  }
  return arguments;
}

TEST(SeccompPolicy, EveryRuleRefusesOnEveryArchitecture) {
  for (const auto& architecture : kArchitectures) {
    int tried = 0;
    for (const Rule& rule : kBase) {
      const auto number = rule.number >= 0 ? std::optional(rule.number) : number_of(architecture, rule.syscall);
      if (!number) continue;
      ++tried;
      EXPECT_EQ(decide(architecture, *number, satisfying(rule)), refused(rule.error_number))
          << architecture.name << " " << rule.syscall << " " << rule.value;
    }
    EXPECT_GT(tried, 90) << architecture.name;
  }
}

TEST(SeccompPolicy, WhatIsNotNamedIsAllowed) {
  std::set<std::string> named;
  std::set<int> numbered;
  for (const Rule& rule : kBase) {
    named.insert(rule.syscall);
    numbered.insert(rule.number);
  }
  for (const auto& architecture : kArchitectures) {
    int tried = 0;
    for (int number = 0; number < 600; ++number) {
      char* name = seccomp_syscall_resolve_num_arch(architecture.libseccomp, number);
      const bool is_named = name != nullptr && named.contains(name);
      std::free(name);
      if (is_named || numbered.contains(number)) continue;
      ++tried;
      EXPECT_EQ(decide(architecture, number), kAllow) << architecture.name << " " << number;
    }
    EXPECT_GT(tried, 400);
  }
}

TEST(SeccompPolicy, WhatOrdinaryProgramsNeedIsAllowed) {
  for (const auto& architecture : kArchitectures) {
    const auto allowed = [&](const char* name, std::initializer_list<std::uint64_t> values) {
      Arguments arguments;
      std::copy(values.begin(), values.end(), arguments.values);
      EXPECT_EQ(decide(architecture, must_number(architecture, name), arguments), kAllow) << architecture.name << name;
    };
    allowed("clone", {0x003d0f00});       // pthread_create
    allowed("clone", {0x01200011});       // fork
    allowed("clone", {0x00004111});       // vfork
    allowed("unshare", {0x00000600});     // CLONE_FS | CLONE_FILES
    allowed("socket", {2, 1, 0});         // AF_INET
    allowed("socket", {10, 0x80802, 0});  // AF_INET6, SOCK_DGRAM with flags
    allowed("socketpair", {1, 0x80001});
    allowed("socketpair", {1, 0x80805});
    allowed("ioctl", {0, 0x5401});              // TCGETS
    allowed("ioctl", {0, 0x5413});              // TIOCGWINSZ
    allowed("prlimit64", {0, 7});               // one's own limits
    allowed("sched_setaffinity", {0, 8});       // one's own
    allowed("setpriority", {0, 0, 10});         // nice
    allowed("setpriority", {1, 0, 10});         // one's own group
    allowed("ioprio_set", {1, 0, 0});           // ionice
    allowed("prlimit64", {0x100000002ULL, 7});  // process 2
    allowed("personality", {0x0040000});
    allowed("seccomp", {1, 0});
    allowed("prctl", {22, 2});
  }
}

TEST(SeccompPolicy, ProcessOneKeepsItsPriority) {
  for (const auto& architecture : kArchitectures) {
    const auto verdict = [&](const char* name, std::uint64_t which, std::uint64_t who) {
      return decide(architecture, must_number(architecture, name), {{which, who}});
    };
    EXPECT_EQ(verdict("setpriority", 0, 1), refused(EPERM));  // by number
    EXPECT_EQ(verdict("setpriority", 1, 1), refused(EPERM));  // its group
    EXPECT_EQ(verdict("setpriority", 2, 0), refused(EPERM));  // everything of the user
    EXPECT_EQ(verdict("setpriority", 2, 1000), refused(EPERM));
    EXPECT_EQ(verdict("ioprio_set", 1, 1), refused(EPERM));
    EXPECT_EQ(verdict("ioprio_set", 3, 1000), refused(EPERM));
  }
}

TEST(SeccompPolicy, JunkInTheUpperHalfOfARegisterHelpsNobody) {
  constexpr std::uint64_t kJunk = 0x1234567800000000ULL;
  for (const auto& architecture : kArchitectures) {
    const auto verdict = [&](const char* name, std::uint64_t first, std::uint64_t second) {
      return decide(architecture, must_number(architecture, name), {{first, second}});
    };
    EXPECT_EQ(verdict("ioctl", 0, kJunk | kTiocsti), refused(EPERM));
    EXPECT_EQ(verdict("ioctl", 0, kJunk | kTioclinux), refused(EPERM));
    EXPECT_NE(verdict("socket", kJunk | kAfUnix, 1), kAllow);
    EXPECT_NE(verdict("socket", kJunk | 16, 3), kAllow);
    EXPECT_NE(verdict("socketpair", kJunk | kAfUnix, 2), kAllow);
    EXPECT_NE(verdict("socketpair", kAfUnix, kJunk | 2), kAllow);
    EXPECT_EQ(verdict("clone", kJunk | kNewUser, 0), refused(EPERM));
    EXPECT_EQ(verdict("unshare", kJunk | kNewUser, 0), refused(EPERM));
    EXPECT_EQ(verdict("prlimit64", kJunk | 1, 0), refused(EPERM));
  }
}

TEST(SeccompPolicy, EveryFamilyButInternetIsRefused) {
  for (const auto& architecture : kArchitectures) {
    const int socket = must_number(architecture, "socket");
    const int pair = must_number(architecture, "socketpair");
    for (std::uint64_t family = 0; family < 300; ++family) {
      const bool internet = family == kAfInet || family == kAfInet6;
      EXPECT_EQ(decide(architecture, socket, {{family, 1}}) == kAllow, internet) << family;
      EXPECT_EQ(decide(architecture, pair, {{family, 1}}) == kAllow, family == kAfUnix) << family;
    }
    for (std::uint64_t type = 0; type < 16; ++type) {
      for (const std::uint64_t flags : {0x0ULL, 0x800ULL, 0x80000ULL, 0x80800ULL}) {
        EXPECT_EQ(decide(architecture, pair, {{kAfUnix, type | flags}}) == kAllow, type == 1 || type == 5) << type;
      }
    }
  }
}

TEST(SeccompPolicy, AnotherArchitectureIsKilled) {
  for (const auto& architecture : kArchitectures) {
    constexpr std::uint32_t kOthers[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64};
    for (const std::uint32_t other : kOthers) {
      seccomp_data data{};
      data.nr = 0;
      data.arch = other;
      EXPECT_EQ(run(architecture.program, data), kKill) << architecture.name << " " << other;
    }
  }
}

TEST(SeccompPolicy, TheX32ConventionIsKilled) {
  for (const int number : {0x40000000, 0x40000000 | 41, 0x40000000 | 512, 0x40000000 | 547, 0x7ffffffe}) {
    EXPECT_EQ(decide(kArchitectures[0], number), kKill) << number;
  }
}

TEST(SeccompPolicy, ProgramsAreWithinTheKernelsLimit) {
  for (const auto& architecture : kArchitectures) EXPECT_LE(architecture.program.size(), std::size_t{BPF_MAXINSNS});
}

}  // namespace
}  // namespace exechost::guest::seccomp
