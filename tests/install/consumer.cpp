// Uses only installed headers and the installed library.
#include <cstdio>
#include <exechost/host.hpp>

int main() {
  exechost::ExecHost host;
  exechost::Request request;
  request.argv = {"echo", "linked"};
  const exechost::ExecResult result = host.run(request);
  if (result.failure) std::fprintf(stderr, "%s\n", exechost::describe(*result.failure).c_str());
  std::fputs(result.out.data.c_str(), stdout);
  return result.status == exechost::Status::exited ? result.exit_code : 1;
}
