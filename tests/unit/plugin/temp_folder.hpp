// A folder of its own for one test, below the build tree: plugins below /tmp are never trusted.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "exechost_test_paths.hpp"

namespace exechost::test {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = EXECHOST_BUILD_PREFIX "/plugin-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + pattern);
    path_ = std::filesystem::canonical(pattern).string();
    ::chmod(path_.c_str(), 0755);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  std::string write(std::string_view name, std::string_view text, mode_t mode = 0644) const {
    const std::string file = *this / name;
    std::ofstream(file, std::ios::binary) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }
  std::string folder(std::string_view name, mode_t mode = 0755) const {
    const std::string made = *this / name;
    std::filesystem::create_directories(made);
    ::chmod(made.c_str(), mode);
    return made;
  }
  std::string copy(const std::string& from, std::string_view name) const {
    const std::string to = *this / name;
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    ::chmod(to.c_str(), 0755);
    return to;
  }

 private:
  std::string path_;
};

}  // namespace exechost::test
