// Somebody who answers as told, and remembers what was asked.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "exechost/approver.hpp"

namespace exechost::test {

class Person {
 public:
  using Reply = std::function<Answer(const AdmissionQuestion&, const std::stop_token&)>;
  explicit Person(Reply reply) : reply_(std::move(reply)) {}

  Approver approver() {
    return [this](const AdmissionQuestion& question, const std::stop_token& stop) {
      {
        const std::lock_guard lock(mutex_);
        questions_.push_back(question);
      }
      asked_.notify_all();
      return reply_(question, stop);
    };
  }
  bool wait_until_asked() {
    std::unique_lock lock(mutex_);
    return asked_.wait_for(lock, std::chrono::seconds(20), [this] { return !questions_.empty(); });
  }
  std::vector<AdmissionQuestion> questions() const {
    const std::lock_guard lock(mutex_);
    return questions_;
  }

 private:
  Reply reply_;
  mutable std::mutex mutex_;
  std::condition_variable asked_;
  std::vector<AdmissionQuestion> questions_;
};

inline Person::Reply always(Answer answer) {
  return [answer](const AdmissionQuestion&, const std::stop_token&) { return answer; };
}

// Says nothing until the question is withdrawn.
inline Answer silent(const AdmissionQuestion&, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait(lock, stop, [] { return false; });
  return Answer::cancelled;
}

}  // namespace exechost::test
