// std::filesystem instead of Boost.Filesystem, so that Boost.DLL stays header-only. Nothing else
// includes Boost.DLL.
#define BOOST_DLL_USE_STD_FS
#include "core/plugin/loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <new>
#include <optional>

#include "core/plugin/digest.hpp"
#include "core/plugin/elf_check.hpp"
#include "core/plugin/failures.hpp"
#include "core/plugin/loaded_object.hpp"
#include "core/plugin/sealed_copy.hpp"
#include "core/plugin/table.hpp"
#include "core/plugin/trial.hpp"
#include "core/plugin/trust.hpp"

namespace exechost::plugin {
namespace {

namespace dll = boost::dll;

using EntryFunction = const eh_plugin*(std::uint32_t, std::uint32_t);

// Loads and finds the entry function. The library stays loaded for good: its code may be in use
// by threads, callbacks and tables that nobody can count.
Result<EntryFunction*> load_entry(const std::string& loadable, const std::string& path) {
  alignas(dll::shared_library) std::byte never_destroyed[sizeof(dll::shared_library)];
  auto& library = *new (never_destroyed) dll::shared_library();
  dll::fs::error_code error;
  library.load(dll::fs::path(loadable), error, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  if (error) {
    const char* const reason = ::dlerror();
    return unexpected(refused(path, fmt::format("can't be loaded: {}", reason == nullptr ? "unknown" : reason),
                              "a library it needs may be missing: `ldd` shows them"));
  }
  if (!library.has(EXECHOST_PLUGIN_ENTRY_NAME)) {
    return unexpected(refused(path, "has no function \"" EXECHOST_PLUGIN_ENTRY_NAME "\"",
                              "it is not an ExecHost plugin, or built for another major version of its ABI"));
  }
  return &library.get<EntryFunction>(EXECHOST_PLUGIN_ENTRY_NAME);
}

Result<const eh_plugin*> call_entry(EntryFunction* entry, const std::string& path) {
  try {
    return entry(EH_ABI_MAJOR, EH_ABI_MINOR);
  } catch (...) {
    return unexpected(refused(path, "threw an exception from its entry function", "ask the plugin's author"));
  }
}

// What is loaded: the library by its path, or, when it is pinned, a copy that nobody can change.
struct Source {
  UniqueFd fd;
  std::string loadable;
  bool is_copy = false;
};

Result<Source> make_source(TrustedFile file, const std::string& path, const std::string& pinned_sha256) {
  Source source;
  if (pinned_sha256.empty()) {
    source.fd = std::move(file.fd);
    source.loadable = path;
    return source;
  }
  Result<UniqueFd> copy = sealed_copy(file.fd.get(), path);
  if (!copy) return unexpected(copy.error());
  const Result<std::string> digest = sha256_of(copy->get(), path);
  if (!digest) return unexpected(digest.error());
  if (*digest != pinned_sha256) {
    return unexpected(refused(path, fmt::format("has SHA-256 {}, pinned is {}", *digest, pinned_sha256),
                              "install the pinned build, or change the setting plugins.pinned"));
  }
  source.fd = std::move(*copy);
  source.loadable = fmt::format("/proc/self/fd/{}", source.fd.get());
  source.is_copy = true;
  return source;
}

Result<void> try_first(const Source& source, const std::string& path, const LoadOptions& options) {
  const Result<ElfFacts> elf = check_elf(source.fd.get(), path);
  if (!elf) return unexpected(elf.error());
  if (!elf->has_constructors) return {};
  const std::string program = options.check_program.empty() ? find_check_program() : options.check_program;
  if (program.empty()) {
    return unexpected(refused(path, "has static constructors and can't be tried first",
                              "exechost-plugin-check is not where it should be: install ExecHost again"));
  }
  return try_loading(program, path, source.is_copy ? source.fd.get() : -1, options.trial_limit);
}

Result<const eh_plugin*> load_table(const Found& found, const LoadOptions& options) {
  const std::string& path = found.library;
  Result<TrustedFile> file = open_trusted(path);
  if (!file) return unexpected(file.error());
  Result<Source> source = make_source(std::move(*file), path, options.pinned_sha256);
  if (!source) return unexpected(source.error());
  if (auto tried = try_first(*source, path, options); !tried) return unexpected(tried.error());

  const Result<EntryFunction*> entry = load_entry(source->loadable, path);
  // The dynamic loader remembers the copy by this name: the number must never mean another file.
  const int fd = source->is_copy ? source->fd.release() : source->fd.get();
  if (!entry) return unexpected(entry.error());
  const Result<bool> same = is_mapped_from(reinterpret_cast<const void*>(*entry), fd, path);
  if (!same) return unexpected(same.error());
  if (!*same) {
    return unexpected(refused(path,
                              "is not the file that was loaded: it was replaced, or its entry function is "
                              "another library's",
                              "end this process and start it again"));
  }
  const Result<const eh_plugin*> table = call_entry(*entry, path);
  if (!table) return unexpected(table.error());
  if (auto checked = check_plugin_table(*table, *found.manifest, path); !checked) return unexpected(checked.error());
  return *table;
}

}  // namespace

Result<std::shared_ptr<const LoadedPlugin>> load_plugin(const Found& found, const LoadOptions& options) {
  if (found.problem) return unexpected(*found.problem);
  if (!found.manifest) return unexpected(refused(found.library, "has no manifest"));
  const Result<const eh_plugin*> table = load_table(found, options);
  if (!table) {
    Failure failure = table.error();
    failure.backend = found.id;
    failure.phase = Phase::provision;
    return unexpected(std::move(failure));
  }
  return std::make_shared<const LoadedPlugin>(found, *table);
}

Result<std::shared_ptr<const LoadedPlugin>> load_plugin(const Found& found, const std::string& pinned_sha256) {
  LoadOptions options;
  options.pinned_sha256 = pinned_sha256;
  return load_plugin(found, options);
}

}  // namespace exechost::plugin
