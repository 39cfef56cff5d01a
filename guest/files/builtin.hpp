// Commands that the guest itself is: how files get into an environment and out of it, with nothing needed in there.
//
//   pack PATH            writes PATH, with everything below when it is a folder, as a stream to standard output
//   unpack PATH NAME     reads a stream from standard input: into the folder PATH as NAME when there is such a
//                        folder, else as PATH
//
// Called in the command's own process, with its confinement, its descriptors and its working folder: what it
// reaches is what any command there reaches.
#pragma once

namespace exechost::guest::files {

// The exit status (report.hpp).
int run_builtin(char* const* arguments);

int pack(const char* path);
int unpack(const char* path, const char* name);

}  // namespace exechost::guest::files
