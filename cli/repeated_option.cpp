#include "cli/repeated_option.hpp"

namespace exechost::cli {

CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& help) {
  // A callback instead of a bound vector: the parser's own conversions give "{}" and "[a,b]" meanings.
  const auto take = [&values](const CLI::results_t& results) {
    values = results;
    return true;
  };
  return app.add_option(name, take, help)
      ->expected(-1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace exechost::cli
