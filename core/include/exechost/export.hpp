// Marks what leaves the shared library; everything else is hidden.
#pragma once

#define EXECHOST_API __attribute__((visibility("default")))
