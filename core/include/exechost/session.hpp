// A named session: an environment that successive runs share, in this program and in others of the same user, until it
// was idle for too long or is stopped. See docs/sessions.md.
#pragma once

#include <stop_token>
#include <string>
#include <utility>

#include "exechost/exec_result.hpp"
#include "exechost/export.hpp"
#include "exechost/failure.hpp"
#include "exechost/host.hpp"
#include "exechost/request.hpp"

namespace exechost {

// Made by ExecHost::session(), which must outlive it; cheap to copy. Nothing is opened before the first run, and
// destroying it ends nothing. Safe to use from any thread.
class EXECHOST_API Session {
 public:
  Session(ExecHost& host, std::string name) : host_(&host), name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  // As ExecHost::run and ExecHost::start, with Request::session set to this one. A request for another place than the
  // one the session was opened for fails with invalid_request, which names what is different.
  ExecResult run(Request request, std::stop_token stop = {}) const;
  Result<Execution> start(Request request) const;

  // As ExecHost::stop_session.
  Result<void> stop(bool purge = false) const;

 private:
  ExecHost* host_;
  std::string name_;
};

}  // namespace exechost
