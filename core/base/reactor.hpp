// One thread that runs one Boost.Asio io_context: timers, pipes and sockets of everything an
// ExecHost does, however many commands run. Handlers never block.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

namespace exechost {

class Reactor {
 public:
  Reactor();
  ~Reactor();  // stops and joins; what is still queued is dropped
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  boost::asio::io_context& context() { return context_; }
  // Runs `work` on the reactor thread. [any thread]
  template <class Work>
  void post(Work&& work) {
    boost::asio::post(context_, std::forward<Work>(work));
  }
  bool on_reactor_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

}  // namespace exechost
