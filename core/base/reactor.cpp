#include "core/base/reactor.hpp"

#include <pthread.h>

#include <csignal>

namespace exechost {

Reactor::Reactor() : guard_(boost::asio::make_work_guard(context_)) {
  // The embedding program's signals are not ours: the thread takes none.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { context_.run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Reactor::~Reactor() {
  guard_.reset();
  context_.stop();
  thread_.join();
}

}  // namespace exechost
