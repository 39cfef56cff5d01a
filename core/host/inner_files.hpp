// Looking at the files of an environment and removing them: executions of built-ins of the guest, as copies are.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/host/copy.hpp"
#include "exechost/files.hpp"

namespace exechost::host {

Result<FileEntry> file_status(const CopyHost& host, const CopyPlace& place, const std::stop_token& stop);
Result<std::vector<FileEntry>> list_files(const CopyHost& host, const CopyPlace& place, const std::stop_token& stop);
Result<void> remove_file(const CopyHost& host, const CopyPlace& place, bool tree, const std::stop_token& stop);

}  // namespace exechost::host
