#include "core/keeper/served_process.hpp"

#include <sys/eventfd.h>

#include <csignal>
#include <utility>

#include "core/keeper/command_server.hpp"

namespace exechost::keeper {
namespace {

constexpr int kPatienceMs = 2000;

}  // namespace

void ServedProcess::conclude(ProcessNews news) {
  const std::lock_guard lock(mutex_);
  if (news_.kind != ProcessNews::Kind::nothing) return;
  news_ = std::move(news);
  ::eventfd_write(event_.get(), 1);
}

ProcessNews ServedProcess::news() {
  const std::lock_guard lock(mutex_);
  return news_;
}

void ServedProcess::signal(int number) {
  const auto server = server_.lock();
  if (server && number == SIGKILL) server->end(number_);
}

void ServedProcess::release() {
  if (news().kind != ProcessNews::Kind::nothing) return;
  const bool posted = loop_->post([server = server_, number = number_] {
    if (const auto alive = server.lock()) alive->end(number);
  });
  if (posted) waits_for(event_.get(), kPatienceMs);
}

}  // namespace exechost::keeper
