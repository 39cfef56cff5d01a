// The same as C++17.
#define exechost_abi_has_version exechost_abi_has_version_cpp
#include "abi_layout.c"
