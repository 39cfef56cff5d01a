// Plays the keeper: starts the real guest binary, gives it a specification, collects what it says
// and what the command prints. Every wait is for an event and ends with a test failure after
// kPatience.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "guest/protocol.hpp"
#include "guest/spec_writer.hpp"
#include "tests/unit/guest/support/places.hpp"
#include "tests/unit/guest/support/serve_process.hpp"

namespace exechost::guest::test {

struct GuestOptions {
  Place place;
  std::string input;                // the command's standard input
  bool keep_input_open = false;     // no end-of-file behind `input`
  bool tty = false;                 // standard input, output and error are one terminal
  bool other_numbers = false;       // hand stdio over as descriptors 4, 5 and 6
  std::vector<int> leaked;          // descriptors the launcher forgot to close
  std::vector<int> further;         // descriptors beside the streams, of a served command
  ServeProcess* server = nullptr;   // one of this guest's commands, else it has a guest of its own
  bool send_spec = true;            // else the test sends its own first packet
  std::optional<UniqueFd> spec_fd;  // sent in place of the writer's
};

class GuestProcess {
 public:
  GuestProcess(const StagedPrograms& programs, const SpecWriter& spec, GuestOptions options);
  ~GuestProcess();
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  // What the keeper can do.
  void signal(int number);
  void kill();
  void close_control() { control_.reset(); }
  int control() const { return control_.get(); }

  void write_input(std::string_view bytes);  // small amounts
  void close_input() { input_.reset(); }

  // Waits; false (and a test failure) when it did not happen.
  bool wait_for(MessageType type);
  bool wait_for_output(std::string_view text);
  bool wait_for_closed_error();   // nobody holds the command's standard error any more
  bool wait_for_refused_input();  // nobody holds the reading end of its standard input any more
  // Nobody holds its standard output and error any more.
  bool wait_for_closed_streams();
  // Until the guest has ended, the socket is closed and nobody holds the command's stdout or
  // stderr any more, which proves that no process of the command is left that had inherited them.
  bool finish();

  // Afterwards.
  const Message* find(MessageType type) const;
  std::vector<MessageType> types() const;
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  int guest_status() const { return guest_status_; }  // as waitpid(2)
  pid_t launcher() const { return launcher_; }
  int number() const { return number_; }  // of a served command

 private:
  template <class Done>
  bool pump_until(const char* what, Done done);
  void pump(int timeout_ms);
  void read_messages();

  UniqueFd control_, input_, output_, error_;
  std::string pending_input_;
  bool keep_input_open_ = false;
  std::vector<Message> messages_;
  std::string out_, err_;
  std::unique_ptr<ServeProcess> own_server_;
  ServeProcess* server_ = nullptr;
  int number_ = 0;  // of a served command
  pid_t launcher_ = -1;
  int guest_status_ = -1;
};

// A specification with a usual PATH for this command.
SpecWriter spec_of(const std::vector<std::string>& arguments);
// A shell script, with further arguments as $1, $2, ...
SpecWriter shell(std::string_view script, const std::vector<std::string>& arguments = {});
// A memfd with these bytes, sealed or not.
UniqueFd memfd_of(std::string_view bytes, bool sealed = true);

// The base of the suites that run in every place: TEST_P with INSTANTIATE in each file.
class InEveryPlace : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (const auto reason = why_not(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }
  GuestOptions here() const {
    GuestOptions options;
    options.place = GetParam();
    return options;
  }
  StagedPrograms programs_;
};

}  // namespace exechost::guest::test
