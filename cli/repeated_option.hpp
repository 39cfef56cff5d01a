// Options that may be given several times, with one value each: the parser's own vectors also take what follows, up to
// the next option, and with it the names that a command is about.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace exechost::cli {

CLI::Option* add_values(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& help);

}  // namespace exechost::cli
