#include "tests/support/listeners.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace exechost::test {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_un unix_address(const std::string& path, std::size_t offset) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() + offset >= sizeof(address.sun_path)) throw std::length_error("socket path too long: " + path);
  std::memcpy(&address.sun_path[offset], path.data(), path.size());
  return address;
}

unsigned unix_length(const std::string& path, std::size_t offset) {
  return static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + offset + path.size());
}

}  // namespace

Listener::Listener(int family, const void* address, unsigned length)
    : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!fd_) fail("socket");
  if (bind(fd_.get(), static_cast<const sockaddr*>(address), length) != 0) fail("bind");
  if (listen(fd_.get(), 16) != 0) fail("listen");
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) fail("getsockname");
  if (family == AF_INET) port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  const UniqueFd visitor(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(visitor.get(), reinterpret_cast<const sockaddr*>(&bound), size) != 0) fail("connect");
  if (visitors() != 1) fail("accept");
}

Listener Listener::tcp(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) throw std::invalid_argument(text);
  return {AF_INET, &address, sizeof(address)};
}

Listener Listener::unix_path(const std::string& path) {
  const sockaddr_un address = unix_address(path, 0);
  Listener listener(AF_UNIX, &address, unix_length(path, 0));
  if (chmod(path.c_str(), 0777) != 0) fail("chmod");
  return listener;
}

Listener Listener::unix_abstract(const std::string& name) {
  const sockaddr_un address = unix_address(name, 1);
  return {AF_UNIX, &address, unix_length(name, 1)};
}

int Listener::visitors() const {
  int count = 0;
  while (true) {
    const UniqueFd visitor(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!visitor) return count;
    ++count;
  }
}

}  // namespace exechost::test
