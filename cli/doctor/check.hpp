// One thing that has to be right for commands to run isolated here.
#pragma once

#include <string>
#include <vector>

#include "exechost/request.hpp"

namespace exechost::cli::doctor {

enum class Verdict { ok, warn, fail };

struct Check {
  std::string name;  // "user namespaces"
  Verdict verdict = Verdict::ok;
  std::string detail;  // what was seen
  std::string advice;  // what to do next; empty when all is well
};

Check ok(std::string name, std::string detail);
Check warn(std::string name, std::string detail, std::string advice);
Check fail(std::string name, std::string detail, std::string advice);

// Each looks at the machine once and changes nothing.
std::vector<Check> kernel_checks();
std::vector<Check> installation_checks();
std::vector<Check> backend_checks(const std::vector<std::string>& only, const Request& request);
// Runs two commands in the default sandbox, in a temporary folder of their own.
struct SelfTests {
  std::vector<Check> checks;
  int interrupted_by = 0;  // a signal that asked this program to end meanwhile; the folder is removed all the same
};
SelfTests self_tests();

}  // namespace exechost::cli::doctor
