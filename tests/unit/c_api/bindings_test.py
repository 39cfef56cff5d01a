"""The C interface from a language that knows no header: what a binding would do."""
import ctypes
import json
import sys

library, options = sys.argv[1], sys.argv[2].encode()
lib = ctypes.CDLL(library)
handle, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
OUTPUT = ctypes.CFUNCTYPE(None, handle, ctypes.c_int, ctypes.POINTER(ctypes.c_char), size)


def function(name, result, *arguments):
    found = getattr(lib, "exechost_" + name)
    found.restype, found.argtypes = result, arguments
    return found


host_create = function("host_create", handle, text, size, ctypes.POINTER(handle))
host_destroy = function("host_destroy", None, handle)
request_create = function("request_create", handle)
add_argument = function("request_add_argument", ctypes.c_int, handle, text, size)
on_output = function("request_on_output", ctypes.c_int, handle, OUTPUT, handle)
request_destroy = function("request_destroy", None, handle)
run = function("run", handle, handle, handle)
result_json = function("result_json", ctypes.POINTER(ctypes.c_char), handle, ctypes.POINTER(size))
result_destroy = function("result_destroy", None, handle)

failure = handle()
host = host_create(options, len(options), ctypes.byref(failure))
assert host and not failure, "no host"

heard = []
callback = OUTPUT(lambda user, stream, data, length: heard.append((stream, data[:length])))
request = request_create()
for argument in (b"printf", b"%s|", b"one", b"\xfe two"):
    assert add_argument(request, argument, len(argument)) == 0
assert on_output(request, callback, None) == 0

result = run(host, request)
length = size()
document = json.loads(result_json(result, ctypes.byref(length))[: length.value])
assert document["status"] == "exited" and document["exit_code"] == 0, document
assert document["stdout_bytes"] == 10, document
assert b"".join(data for stream, data in heard if stream == 1) == b"one|\xfe two|", heard

result_destroy(result)
request_destroy(request)
host_destroy(host)
