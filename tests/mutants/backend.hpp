// The mutant's backend: correct with fault "none", else wrong in the one way that its settings name.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "exechost/backend.hpp"
#include "tests/mutants/faults.hpp"
#include "tests/mutants/resources.hpp"
#include "tests/mutants/variant.hpp"

namespace mutants {

class MutantBackend : public exechost::sdk::Backend {
 public:
  static exechost::sdk::Outcome<std::unique_ptr<exechost::sdk::Backend>> make(exechost::sdk::Host host,
                                                                              const Variant& variant,
                                                                              std::string_view settings);
  MutantBackend(exechost::sdk::Host host, Variant variant, Fault fault, std::string resource_folder)
      : host_(host), variant_(std::move(variant)), fault_(fault), resources_(std::move(resource_folder)) {}

  exechost::sdk::Outcome<std::string> probe(const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<exechost::sdk::Opened> open(std::string_view document,
                                                     const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<void> reap(std::string_view entry, const exechost::sdk::Call& call) override;
  exechost::sdk::Outcome<std::string> list(const exechost::sdk::Call& call) override;

 private:
  // Why commands can't be started here; empty: they can.
  exechost::sdk::Outcome<std::string> try_runner(const exechost::sdk::Call& call) const;

  exechost::sdk::Host host_;
  Variant variant_;
  Fault fault_;
  Resources resources_;
  std::atomic<unsigned> probes_ = 0;
};

}  // namespace mutants
