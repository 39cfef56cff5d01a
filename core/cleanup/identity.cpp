#include "core/cleanup/identity.hpp"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace exechost::cleanup {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// machine-id(5): the id is confidential and may only be used hashed with something of one's own.
std::string machine_uuid() {
  const std::string id = first_line("/etc/machine-id");
  if (id.empty()) return {};
  constexpr boost::uuids::uuid kExecHost{
      {0x0e, 0x5d, 0x1c, 0x0f, 0x9a, 0x37, 0x4b, 0x1e, 0x8c, 0x52, 0x6b, 0x73, 0xd1, 0x40, 0x2e, 0x98}};
  return to_string(boost::uuids::name_generator_sha1(kExecHost)(id));
}

// proc(5): field 22; the command's name (field 2) may hold spaces and parentheses.
std::uint64_t own_start_time() {
  const std::string stat = first_line("/proc/self/stat");
  const auto close = stat.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream fields(stat.substr(close + 1));
  std::string field;
  for (int index = 3; index <= 22; ++index) {
    if (!(fields >> field)) return 0;
  }
  return std::strtoull(field.c_str(), nullptr, 10);
}

}  // namespace

Identity current_identity() {
  Identity identity;
  identity.machine = machine_uuid();
  identity.boot = first_line("/proc/sys/kernel/random/boot_id");
  struct stat ns {};
  if (::stat("/proc/self/ns/pid", &ns) == 0) identity.pid_ns = ns.st_ino;
  identity.pid = ::getpid();
  identity.pid_start = own_start_time();
  return identity;
}

Result<std::string> make_id() {
  std::array<unsigned char, 16> bytes{};
  ssize_t got = 0;
  do {
    got = ::getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(bytes.size())) {
    Failure failure;
    failure.kind = FailureKind::unavailable;
    failure.phase = Phase::provision;
    failure.message = "getrandom gave no random bytes";
    failure.error_number = errno;
    failure.step = "id";
    return unexpected(std::move(failure));
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

bool is_id(const std::string& text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char digit) {
           return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
         });
}

}  // namespace exechost::cleanup
