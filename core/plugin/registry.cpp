#include "core/plugin/registry.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "core/plugin/digest.hpp"
#include "core/plugin/failures.hpp"
#include "core/plugin/trust.hpp"

namespace exechost::plugin {
namespace {

constexpr std::string_view kLibrarySuffix = ".so";
constexpr std::size_t kMaxEntries = 4096;  // of one folder

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Names of the libraries in a folder, sorted. A folder that isn't there has none.
std::vector<std::string> library_names(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> open_folder(::opendir(folder.c_str()));
  if (!open_folder) return names;
  while (const dirent* const entry = ::readdir(open_folder.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() <= kLibrarySuffix.size() || name.front() == '.' || !name.ends_with(kLibrarySuffix)) continue;
    names.emplace_back(name);
    if (names.size() == kMaxEntries) break;
  }
  std::sort(names.begin(), names.end());
  return names;
}

using FileIdentity = std::pair<dev_t, ino_t>;

Found inspect(const std::string& library, FileIdentity* identity) {
  Found found;
  found.library = library;
  const std::size_t slash = library.rfind('/');
  const std::string name = slash == std::string::npos ? library : library.substr(slash + 1);
  const bool has_suffix = name.size() > kLibrarySuffix.size() && std::string_view(name).ends_with(kLibrarySuffix);
  found.id = has_suffix ? name.substr(0, name.size() - kLibrarySuffix.size()) : name;
  const auto problem = [&found](Failure failure) {
    failure.backend = found.id;
    found.problem = std::move(failure);
  };
  if (!has_suffix) {
    problem(refused(library, "is not named like a plugin (NAME.so)"));
    return found;
  }
  found.manifest_path = library.substr(0, library.size() - kLibrarySuffix.size()) + ".json";

  const Result<TrustedFile> file = open_trusted(library);
  if (!file) {
    problem(file.error());
  } else {
    if (identity != nullptr) *identity = {file->device, file->inode};
    Result<std::string> digest = sha256_of(file->fd.get(), library);
    if (digest) {
      found.sha256 = std::move(*digest);
    } else {
      problem(digest.error());
    }
  }
  Result<Manifest> manifest = read_manifest(found.manifest_path);
  if (manifest) {
    found.manifest = std::move(*manifest);
  } else if (!found.problem) {
    problem(manifest.error());
  }
  return found;
}

void mark_duplicates(std::vector<Found>& all) {
  std::map<std::string, std::vector<Found*>> by_id;
  for (Found& found : all) by_id[found.id].push_back(&found);
  for (const auto& [id, group] : by_id) {
    if (group.size() < 2) continue;
    for (Found* const found : group) {
      if (found->problem) continue;
      const Found* const other = group.front() == found ? group[1] : group.front();
      found->problem = refused(found->library, fmt::format(R"(has the same id "{}" as "{}")", id, other->library),
                               "remove one of them, or name one folder only in plugins.directories");
      found->problem->backend = id;
    }
  }
}

}  // namespace

Found inspect_plugin(const std::string& library) { return inspect(library, nullptr); }

std::vector<Found> find_plugins(const std::vector<std::string>& folders) {
  std::vector<Found> all;
  std::set<FileIdentity> seen;
  for (const std::string& folder : folders) {
    for (const std::string& name : library_names(folder)) {
      FileIdentity identity{};
      Found found = inspect(fmt::format("{}/{}", folder, name), &identity);
      // One folder named twice is no duplicate.
      if (identity != FileIdentity{} && !seen.insert(identity).second) continue;
      all.push_back(std::move(found));
    }
  }
  mark_duplicates(all);
  return all;
}

}  // namespace exechost::plugin
