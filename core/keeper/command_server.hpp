// The keeper's side of a guest that serves the commands of one environment, however it is reached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/keeper/event_loop.hpp"
#include "core/keeper/started_process.hpp"

namespace exechost::keeper {

class ServedProcess;
struct StreamLink;

// The guest itself, confined and waiting for commands.
struct ServingGuest {
  ServingGuest();
  ServingGuest(ServingGuest&&) noexcept;
  ServingGuest& operator=(ServingGuest&&) noexcept;
  ~ServingGuest();

  UniqueFd socket;                     // its control socket, or
  std::unique_ptr<StreamLink> stream;  // where descriptors can't be passed, the byte streams to and from it
  std::shared_ptr<StartedProcess> process;
};

// Ends it and everything it started, and waits for the proof; false: there is none. Blocks for some seconds at
// most. [worker]
bool end_guest(ServingGuest& guest);

// On the loop's thread.
class CommandServer {
 public:
  virtual ~CommandServer() = default;
  virtual void start() = 0;
  // Whether a command can have descriptors beside its streams.
  virtual bool passes_descriptors() const = 0;
  // Starts a command's supervisor. `control`: the socket that is its own, with its specification in it; `stdio`: the
  // command's three streams and what the specification places beside them. environment_lost: the guest is gone.
  virtual Result<std::shared_ptr<ServedProcess>> run(UniqueFd control, std::vector<UniqueFd> stdio) = 0;
  // Nothing of that command may stay.
  virtual void end(std::int32_t number) = 0;
  // Not watched any more; every command that still runs is lost. For end_guest.
  virtual ServingGuest stop() = 0;
};

std::shared_ptr<CommandServer> make_command_server(std::shared_ptr<EventLoop> loop, ServingGuest guest,
                                                   const std::string& backend);

}  // namespace exechost::keeper
