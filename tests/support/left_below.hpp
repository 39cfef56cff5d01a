// What a program has left in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace exechost::test {

// Everything below the folder. The thread sanitizer's runtime has a file of its own there while it starts.
inline std::vector<std::string> left_below(const std::string& folder) {
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("tsan.rodata.")) left.push_back(entry.path().string());
  }
  return left;
}

}  // namespace exechost::test
