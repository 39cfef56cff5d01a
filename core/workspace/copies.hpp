// The copies that one ExecHost works in: one for each session by name, one for the runs without. Safe from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/workspace/copy_folder.hpp"
#include "exechost/failure.hpp"

namespace exechost::workspace {

class Copies {
 public:
  // `root` holds the copies of all this user's programs.
  explicit Copies(std::string root);
  // Removes the one that has no name; the others stay for whoever asks for their session.
  ~Copies();
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // Where the copy of a session lies, or will; "" is the runs without one.
  std::string tree_path(const std::string& session) const;

  // Makes it when it is not there, which takes as long as it takes. invalid_request when it is one of another
  // workspace. `left_out`: what was not copied, when it was made now.
  Result<void> prepare(const std::string& session, const std::string& workspace, const MakeOptions& options,
                       std::vector<std::string>& left_out);
  // invalid_request when there is none.
  Result<std::shared_ptr<CopyFolder>> find(const std::string& session);
  Result<void> discard(const std::string& session);

 private:
  std::string key_of(const std::string& session) const;
  Result<std::shared_ptr<CopyFolder>> make(const std::string& session, const std::string& workspace,
                                           const MakeOptions& options, std::vector<std::string>& left_out);

  const std::string root_;
  const std::string own_key_;
  std::mutex mutex_;
  std::condition_variable made_;
  struct Held {
    std::shared_ptr<CopyFolder> folder;  // null: it is being made
    std::string workspace;               // that it is a copy of
  };
  std::map<std::string, Held> held_;
};

}  // namespace exechost::workspace
