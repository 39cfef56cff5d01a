// What a command works with while it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/gateway/commands/run.hpp"
#include "core/gateway/parts.hpp"

namespace exechost::gateway {

class CommandContext {
 public:
  CommandContext(const Gateway::Parts& parts, const CommandRequest& request, std::string cwd, const CommandSinks& sinks)
      : parts_(parts), request_(request), cwd_(std::move(cwd)), sinks_(sinks) {}

  const Gateway::Parts& parts() const { return parts_; }
  const Limits& limits() const { return parts_.policy.limits; }
  const Patience& patience() const { return request_.patience; }
  const std::string& cwd() const { return cwd_; }
  std::string_view standard_input() const { return *request_.standard_input; }

  Result<Located> locate(std::string_view path, FinalLink link = FinalLink::follow) const {
    return parts_.locate(path, cwd_, link, patience());
  }

  void out(std::string_view bytes);
  void flush();
  // A line on standard error that is no trouble.
  void note(std::string_view line);
  // One line on standard error: "MESSAGE: what the kernel calls it". An interruption is handed on
  // instead: it ends the command.
  Result<void> problem(std::string_view message, const Failure& failure);

  std::vector<Failure> take_problems() { return std::move(problems_); }

 private:
  const Gateway::Parts& parts_;
  const CommandRequest& request_;
  std::string cwd_;
  const CommandSinks& sinks_;
  std::string buffer_;
  std::vector<Failure> problems_;
};

}  // namespace exechost::gateway
