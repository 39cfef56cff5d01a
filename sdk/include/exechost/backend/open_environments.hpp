// What Backend::list answers for a backend whose environments are processes of this one alone: those that are open
// now, and no others, as none outlives it.
#ifndef EXECHOST_BACKEND_OPEN_ENVIRONMENTS_HPP
#define EXECHOST_BACKEND_OPEN_ENVIRONMENTS_HPP

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace exechost::sdk {

// [any thread]
class OpenEnvironments {
 public:
  // Belongs to the environment; its end takes the entry off the list.
  using Entry = std::shared_ptr<const std::string>;

  // `entry`: a JSON object with the open document's "name" and "labels".
  Entry add(std::string entry) {
    auto added = std::make_shared<const std::string>(std::move(entry));
    const std::lock_guard lock(mutex_);
    forget_ended();  // whoever never lists would keep a little of each
    open_.push_back(added);
    return added;
  }

  // A JSON array, as Backend::list gives it.
  std::string list() {
    std::string all = "[";
    const std::lock_guard lock(mutex_);
    forget_ended();
    for (const auto& entry : open_) {
      const Entry alive = entry.lock();
      if (!alive) continue;
      if (all.size() > 1) all += ',';
      all += *alive;
    }
    return all + ']';
  }

 private:
  void forget_ended() {
    open_.erase(std::remove_if(open_.begin(), open_.end(), [](const auto& entry) { return entry.expired(); }),
                open_.end());
  }

  std::mutex mutex_;
  std::vector<std::weak_ptr<const std::string>> open_;
};

}  // namespace exechost::sdk

#endif
