// Puts questions to the approver, one at a time, on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "exechost/approver.hpp"

namespace exechost::admission {

// [any thread]
class Asker {
 public:
  explicit Asker(Approver approver) : approver_(std::move(approver)) {}
  // Withdraws what is open and waits for the approver to return.
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  bool can_ask() const { return approver_ != nullptr; }

  // `handler` is called once, on the asker's thread; without an approver on the caller's, with
  // no_route. A question whose `stop` is requested before its turn is not put: cancelled.
  void ask(AdmissionQuestion question, std::stop_token stop, std::function<void(Answer)> handler);

 private:
  struct Item {
    AdmissionQuestion question;
    std::stop_token stop;
    std::function<void(Answer)> handler;
  };
  void work(const std::stop_token& ending);
  Answer put(const Item& item, const std::stop_token& ending) const;

  Approver approver_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Item> waiting_;            // guarded by mutex_
  std::optional<std::jthread> thread_;  // guarded by mutex_; at first need
};

}  // namespace exechost::admission
