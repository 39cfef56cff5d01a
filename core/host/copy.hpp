// Transfers between this machine and environments: an execution of a built-in of the guest at one end, files of this
// machine or another such execution at the other.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/files/limits.hpp"
#include "core/files/place.hpp"
#include "core/host/context.hpp"
#include "core/plan/plan.hpp"
#include "core/settings/settings.hpp"
#include "exechost/files.hpp"
#include "exechost/host.hpp"

namespace exechost::host {

// What holds for one transfer, from the request's plan.
struct CopyTerms {
  files::Limits limits;
  files::PlaceRules places;
};
CopyTerms copy_terms(const plan::Plan& plan, const settings::Settings& settings, const Context& context);
files::Limits copy_limits(const settings::Settings& settings);

struct CopyHost {
  std::function<Result<CopyTerms>(const Request&)> terms;
  std::function<Result<Execution>(const Request&)> start;  // argv is a built-in's
};

struct CopyPlace {
  const Request& where;
  const std::string& path;
};

CopyResult copy_in(const CopyHost& host, const std::string& local, const CopyPlace& to, const CopyOptions& options,
                   std::stop_token stop);
CopyResult copy_out(const CopyHost& host, const CopyPlace& from, const std::string& local, const CopyOptions& options,
                    std::stop_token stop);
CopyResult copy_between(const CopyHost& host, const CopyPlace& from, const CopyPlace& to, const CopyOptions& options,
                        std::stop_token stop);

}  // namespace exechost::host
