// Commands that the guest itself is: how files get into an environment and out of it, with nothing needed in there.
//
//   pack PATH            writes PATH, with everything below when it is a folder, as a stream to standard output
//   unpack PATH NAME     reads a stream from standard input: into the folder PATH as NAME when there is such a
//                        folder, else as PATH
//   stat PATH            says what PATH is, a link itself (report.hpp)
//   list PATH            says what each entry of the folder is
//   remove PATH          removes a file, a link, an empty folder
//   remove-tree PATH     removes it with everything below, over no link and onto no other mount
//
// Called in the command's own process, with its confinement, its descriptors and its working folder: what it
// reaches is what any command there reaches.
#pragma once

namespace exechost::guest::files {

// The exit status (report.hpp).
int run_builtin(char* const* arguments);

int pack(const char* path);
int unpack(const char* path, const char* name);
int stat(const char* path);
int list(const char* path);
int remove(const char* path);
int remove_tree(const char* path);

}  // namespace exechost::guest::files
