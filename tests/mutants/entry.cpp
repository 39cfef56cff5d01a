#include "tests/mutants/entry.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "exechost/backend.hpp"
#include "tests/mutants/backend.hpp"
#include "tests/mutants/boundary.hpp"

namespace mutants {

namespace sdk = exechost::sdk;

namespace {

// The SDK makes a backend from a class; which variant it is comes with the call. [init]
thread_local const Variant* current_variant = nullptr;

class VariantBackend final : public MutantBackend {
 public:
  using MutantBackend::MutantBackend;
  static sdk::Outcome<std::unique_ptr<sdk::Backend>> create(sdk::Host host, std::string_view settings,
                                                            const sdk::Call& /*call*/) {
    return make(host, *current_variant, settings);
  }
};

}  // namespace

eh_status create(const Variant& variant, const eh_host* host, eh_str settings, const eh_call* call,
                 const eh_backend** out) {
  current_variant = &variant;
  const eh_status status = sdk::detail::create<VariantBackend>(host, settings, call, out);
  current_variant = nullptr;
  if (status != EH_OK) return status;
  const auto name = nlohmann::json::parse(sdk::to_view(settings)).value("fault", "none");
  *out = with_boundary_fault(*out, find_fault(name)->fault);
  return EH_OK;
}

}  // namespace mutants
