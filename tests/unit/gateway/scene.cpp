#include "tests/unit/gateway/scene.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "core/base/unique_fd.hpp"

namespace exechost::gateway {
namespace fs = std::filesystem;

Scene::Scene() : temp_("/var/tmp", geteuid(), getegid()) {
  fs::create_directories(workspace());
  fs::create_directories(outside());
  test::write_file(outside() + "/secret", std::string(kSecret));
}

void Scene::file(std::string_view relative, std::string_view content, mode_t mode) const {
  fs::create_directories(fs::path(in(relative)).parent_path());
  test::write_file(in(relative), std::string(content), mode);
}

void Scene::folder(std::string_view relative) const { fs::create_directories(in(relative)); }

void Scene::link(std::string_view relative, std::string_view target) const {
  fs::create_directories(fs::path(in(relative)).parent_path());
  fs::create_symlink(std::string(target), in(relative));
}

void Scene::fifo(std::string_view relative) const {
  if (::mkfifo(in(relative).c_str(), 0666) != 0) throw std::runtime_error("mkfifo " + in(relative));
}

void Scene::sparse(std::string_view relative, off_t size) const {
  const UniqueFd fd(::open(in(relative).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (::ftruncate(fd.get(), size) != 0) throw std::runtime_error("ftruncate " + in(relative));
}

Policy Scene::policy() const {
  Policy policy;
  policy.workspace = workspace();
  policy.roots = {{workspace(), workspace()}};
  policy.zones = {{"/", Access::readable}, {workspace(), Access::writable}};
  return policy;
}

Gateway Scene::open(Policy policy) {
  auto gateway = Gateway::open(std::move(policy));
  if (!gateway) throw std::runtime_error(describe(gateway.error()));
  return std::move(*gateway);
}

Ran run(const Gateway& gateway, std::vector<std::string> argv, std::string input, std::string cwd) {
  CommandRequest request;
  request.argv = std::move(argv);
  request.standard_input = std::move(input);
  request.cwd = std::move(cwd);
  Ran ran;
  CommandSinks sinks;
  sinks.out = [&](std::string_view bytes) { ran.out += bytes; };
  sinks.err = [&](std::string_view bytes) { ran.err += bytes; };
  auto end = run_command(gateway, request, sinks);
  if (!end) {
    ADD_FAILURE() << describe(end.error());
    return ran;
  }
  EXPECT_EQ(end->status, CommandStatus::exited);
  ran.status = end->exit_code;
  ran.problems = std::move(end->problems);
  return ran;
}

Result<CommandEnd> try_run(const Gateway& gateway, std::vector<std::string> argv) {
  CommandRequest request;
  request.argv = std::move(argv);
  const CommandSinks sinks{[](std::string_view) { ADD_FAILURE() << "something was printed"; },
                           [](std::string_view) { ADD_FAILURE() << "something was printed"; }};
  return run_command(gateway, request, sinks);
}

}  // namespace exechost::gateway
