// Plays the keeper of a `serve` guest.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "guest/protocol.hpp"
#include "guest/spec_writer.hpp"
#include "tests/unit/guest/support/places.hpp"

namespace exechost::guest::test {

inline constexpr std::chrono::seconds kPatience{30};

struct Launch {
  const StagedPrograms& programs;
  Place place;
  const char* mode;
  int control;
  const int (&stdio)[3];
  bool other_numbers = false;
  std::vector<int> leaked{};
};
// A process that becomes the guest in that place, or waits for it and ends like it.
pid_t launch_guest(const Launch& launch);

class ServeProcess {
 public:
  // The spec's command does not matter, only its confinement.
  ServeProcess(const StagedPrograms& programs, const SpecWriter& spec, Place place);
  ~ServeProcess();
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  // A command with this control socket, these streams and these further descriptors; its number.
  int run(int control, const int (&stdio)[3], const std::vector<int>& further) {
    std::vector<int> all{control, stdio[0], stdio[1], stdio[2]};
    all.insert(all.end(), further.begin(), further.end());
    return run_as(next_++, all);
  }
  // Any packet that looks like one that starts a command.
  int run_as(int number, const std::vector<int>& descriptors);
  void end(int number);
  void send(const void* bytes, std::size_t size);
  // What it says about a command's end. Fails the test when it does not.
  Message wait_over(int number);
  // Its first message.
  Message wait_first();
  // No more commands: it ends everything and then itself. As waitpid(2).
  int close_and_wait();
  pid_t launcher() const { return launcher_; }

 private:
  bool read_one();  // false: nothing comes any more

  UniqueFd control_;
  std::vector<Message> messages_;
  int next_ = 1;
  pid_t launcher_ = -1;
};

}  // namespace exechost::guest::test
