// A folder that exists as long as its object.
#pragma once

#include <sys/types.h>

#include <string>

namespace exechost::test {

class TempFolder {
 public:
  // Makes PARENT/exechost-test-XXXXXX, mode 0755, owned by uid:gid. Throws std::system_error.
  TempFolder(const std::string& parent, uid_t uid, gid_t gid);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The whole file; throws std::system_error when it can't be read.
std::string read_file(const std::string& path);
// Writes, with mode and owner; throws std::system_error.
void write_file(const std::string& path, const std::string& content, mode_t mode = 0644);
bool exists(const std::string& path);  // lstat

}  // namespace exechost::test
