#include "core/c_api/approver.hpp"
#include "core/c_api/handles.hpp"
#include "core/c_api/host_options.hpp"

namespace c = exechost::c_api;

namespace exechost::c_api {
namespace {

// A text for the caller, or its failure.
char* text_or_failure(const Result<std::string>& text, exechost_failure** failure) {
  if (text) return make_text(*text);
  report(failure, text.error());
  return nullptr;
}

}  // namespace
}  // namespace exechost::c_api

const char* exechost_version() { return EXECHOST_VERSION; }

exechost_host* exechost_host_create(const char* options, size_t size, exechost_failure** failure) {
  return exechost_host_create_with_approver(options, size, nullptr, nullptr, failure);
}

exechost_host* exechost_host_create_with_approver(const char* options, size_t size, exechost_approver approver,
                                                  void* user, exechost_failure** failure) {
  return c::guarded<exechost_host*>(nullptr, [&]() -> exechost_host* {
    auto parsed = c::parse_host_options(options == nullptr ? std::string_view() : std::string_view(options, size));
    if (!parsed) {
      c::report(failure, parsed.error());
      return nullptr;
    }
    parsed->approver = c::make_approver(approver, user);
    return new exechost_host{exechost::ExecHost(std::move(*parsed))};
  });
}

void exechost_host_destroy(exechost_host* host) { delete host; }

exechost_result* exechost_run(exechost_host* host, const exechost_request* request) {
  return c::guarded<exechost_result*>(nullptr, [&] { return c::make_result(host->host.run(request->request)); });
}

exechost_execution* exechost_start(exechost_host* host, const exechost_request* request, exechost_failure** failure) {
  return c::guarded<exechost_execution*>(nullptr, [&]() -> exechost_execution* {
    auto started = host->host.start(request->request);
    if (started) return new exechost_execution{std::move(*started)};
    c::report(failure, started.error());
    return nullptr;
  });
}

char* exechost_explain_json(exechost_host* host, const exechost_request* request, exechost_failure** failure) {
  return c::guarded<char*>(nullptr,
                           [&] { return c::text_or_failure(host->host.explain_json(request->request), failure); });
}

char* exechost_explain_text(exechost_host* host, const exechost_request* request, exechost_failure** failure) {
  return c::guarded<char*>(nullptr,
                           [&] { return c::text_or_failure(host->host.explain_text(request->request), failure); });
}

char* exechost_backends_json(exechost_host* host, exechost_failure** failure) {
  return c::guarded<char*>(nullptr, [&] { return c::text_or_failure(host->host.backends_json(), failure); });
}
