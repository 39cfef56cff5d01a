// The same as C++17.
#define exechost_abi_has_version exechost_abi_has_version_cpp
#include "abi_layout.c"  // NOLINT(bugprone-suspicious-include): compiled once more, as C++
