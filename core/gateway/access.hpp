// What the policy says about a path of the host. Pure but for the identities, which are looked up
// once.
#pragma once

#include <sys/stat.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "exechost/gateway.hpp"

namespace exechost::gateway {

class AccessRules {
 public:
  explicit AccessRules(const Policy& policy);

  // `host_path` is absolute, normal, with links resolved.
  Access decide(std::string_view host_path) const;
  // Writing: decide(), the workspace and the protected names together. Empty when it may be written,
  // else the rule that says no.
  std::string_view why_not_writable(std::string_view host_path) const;

  // A file that is hidden under another name (a hard link) stays hidden.
  bool is_hidden_file(const struct stat& status) const {
    return hidden_files_.contains({status.st_dev, status.st_ino});
  }

 private:
  const Policy& policy_;
  std::set<std::pair<dev_t, ino_t>> hidden_files_;
};

}  // namespace exechost::gateway
