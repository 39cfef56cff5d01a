#include <cerrno>
#include <climits>
#include <cstring>

#include "core/c_api/handles.hpp"

namespace exechost::c_api {
namespace {

// Bytes as they come in: a null pointer is right only for none.
bool is_given(const char* data, std::size_t size) { return data != nullptr || size == 0; }

std::string bytes(const char* data, std::size_t size) { return size == 0 ? std::string() : std::string(data, size); }

// Changes the request; 0 or an errno value.
template <class Change>
int changed(Change&& change) noexcept {
  return guarded(ENOMEM, [&] {
    change();
    return 0;
  });
}

int set_input(exechost_request* request, StdinSource input) {
  request->request.standard_input = std::move(input);
  return 0;
}

}  // namespace
}  // namespace exechost::c_api

namespace c = exechost::c_api;

exechost_request* exechost_request_create() {
  return c::guarded<exechost_request*>(nullptr, [] { return new exechost_request; });
}

void exechost_request_destroy(exechost_request* request) { delete request; }

int exechost_request_add_argument(exechost_request* request, const char* data, size_t size) {
  if (!c::is_given(data, size)) return EINVAL;
  return c::changed([&] { request->request.argv.push_back(c::bytes(data, size)); });
}

int exechost_request_set_shell(exechost_request* request, const char* data, size_t size) {
  if (!c::is_given(data, size)) return EINVAL;
  return c::changed([&] { request->request.shell = c::bytes(data, size); });
}

int exechost_request_set_cwd(exechost_request* request, const char* data, size_t size) {
  if (!c::is_given(data, size)) return EINVAL;
  return c::changed([&] { request->request.cwd = c::bytes(data, size); });
}

int exechost_request_set_variable(exechost_request* request, const char* name, const char* data, size_t size) {
  if (name == nullptr || !c::is_given(data, size)) return EINVAL;
  return c::changed([&] { request->request.env[name] = c::bytes(data, size); });
}

int exechost_request_set_settings(exechost_request* request, const char* json, size_t size) {
  if (!c::is_given(json, size)) return EINVAL;
  return c::changed([&] { request->request.settings_json = c::bytes(json, size); });
}

int exechost_request_set_timeout_ms(exechost_request* request, uint64_t milliseconds) {
  // What the clock can't hold can't be waited for either.
  if (milliseconds > static_cast<std::uint64_t>(INT64_MAX / 1'000'000)) return EINVAL;
  request->request.timeout.reset();
  if (milliseconds > 0) request->request.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(milliseconds));
  return 0;
}

int exechost_request_set_stdin_bytes(exechost_request* request, const char* data, size_t size) {
  if (!c::is_given(data, size)) return EINVAL;
  return c::guarded(ENOMEM, [&] {
    return c::set_input(request, {exechost::StdinSource::Kind::bytes, c::bytes(data, size), -1});
  });
}

int exechost_request_set_stdin_stream(exechost_request* request) {
  return c::set_input(request, {exechost::StdinSource::Kind::stream, {}, -1});
}

int exechost_request_set_stdin_descriptor(exechost_request* request, int descriptor) {
  if (descriptor < 0) return EINVAL;
  return c::set_input(request, {exechost::StdinSource::Kind::descriptor, {}, descriptor});
}

int exechost_request_on_output(exechost_request* request, exechost_output_callback callback, void* user) {
  return c::changed([&] {
    request->request.on_output = nullptr;
    if (callback == nullptr) return;
    request->request.on_output = [callback, user](exechost::StdStream stream, std::string_view bytes) {
      callback(user, stream == exechost::StdStream::out ? EXECHOST_STDOUT : EXECHOST_STDERR, bytes.data(),
               bytes.size());
    };
  });
}

int exechost_request_set_output_descriptors(exechost_request* request, int out, int err) {
  request->request.stdout_descriptor = out < 0 ? -1 : out;
  request->request.stderr_descriptor = err < 0 ? -1 : err;
  return 0;
}

int exechost_request_set_terminal(exechost_request* request, uint16_t rows, uint16_t columns) {
  if (rows == 0 || columns == 0) return EINVAL;
  request->request.tty = true;
  request->request.tty_rows = rows;
  request->request.tty_columns = columns;
  return 0;
}
