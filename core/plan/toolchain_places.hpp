// What is known about where tools are installed: names only, nothing here looks at the machine.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace exechost::plan {

// An environment variable of a version manager or toolchain; it names one folder (GOPATH: a list).
struct ToolchainVariable {
  static constexpr std::size_t kMaxMarkers = 3;

  std::string_view name;
  std::string_view below;  // the part that holds tools; empty: all of it
  // One of these exists in the folder that holds tools, if it is what the variable says. None: a
  // folder of programs, known by its name.
  std::array<std::string_view, kMaxMarkers> markers{};
};
std::span<const ToolchainVariable> toolchain_variables();

// Where version managers keep everything when no variable says otherwise, relative to a home.
std::span<const std::string_view> version_manager_roots();

// Folders of a home that hold far more than tools; never shown as a whole.
std::span<const std::string_view> broad_folders();

// True for what folders of programs are called: bin, sbin, shims, ...
bool is_program_folder_name(std::string_view name);

}  // namespace exechost::plan
