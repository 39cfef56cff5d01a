// Real listening sockets on the host, to prove that a sandbox can't reach them.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/unique_fd.hpp"

namespace exechost::test {

class Listener {
 public:
  // Each throws std::system_error. The listener has been connected to once by the test itself, so
  // that "nobody came" means something.
  static Listener tcp(const std::string& address);         // any free port
  static Listener unix_path(const std::string& path);      // mode 0777
  static Listener unix_abstract(const std::string& name);  // without the leading NUL

  std::uint16_t port() const { return port_; }
  // How many have connected since the last call.
  int visitors() const;

 private:
  Listener(int family, const void* address, unsigned length);
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

}  // namespace exechost::test
