// The shared library's own file: what it consists of comes from the modules (CMakeLists.txt).
