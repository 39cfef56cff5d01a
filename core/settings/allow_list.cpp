#include "core/settings/allow_list.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/unique_fd.hpp"
#include "core/base/utf8.hpp"
#include "core/settings/layer.hpp"
#include "core/settings/schema_tree.hpp"
#include "core/settings/settings_file.hpp"
#include "core/settings/strict_json.hpp"

namespace exechost::settings {
namespace {

// Keeps the order in which a person has written the file.
using Document = nlohmann::ordered_json;

Failure unwritable(const std::string& path, int error_number) {
  Failure failure;
  failure.kind = FailureKind::unavailable;
  failure.phase = Phase::admission;
  failure.step = "settings file";
  failure.error_number = error_number;
  failure.message = fmt::format("{}: can't be written: {}", path, std::generic_category().message(error_number));
  return failure;
}

class UserFile {
 public:
  explicit UserFile(const AllowList& list) : list_(list), path_(list.user_dir + "/settings.json") {}

  Result<bool> change(const Words& command, bool add) {
    for (const std::string& word : command) {
      if (!is_valid_utf8(word))
        return tl::unexpected(broken_setting(path_, "", "", "a command that is not valid UTF-8 can't be listed"));
    }
    if (auto locked = lock(); !locked) return tl::unexpected(locked.error());
    if (auto read = load(); !read) return tl::unexpected(read.error());
    Document commands = listed();
    const Document entry = command;
    const auto found = std::find(commands.begin(), commands.end(), entry);
    if (add == (found != commands.end())) return false;
    if (add) {
      commands.push_back(entry);
    } else {
      commands.erase(found);
    }
    document_["admission"][list_.tier]["allow"] = std::move(commands);
    if (auto valid = check(); !valid) return tl::unexpected(valid.error());
    if (auto stored = store(); !stored) return tl::unexpected(stored.error());
    return true;
  }

 private:
  // On the folder, since the file itself is replaced.
  Result<void> lock() {
    std::error_code error;
    const bool existed = std::filesystem::exists(list_.user_dir, error);
    std::filesystem::create_directories(list_.user_dir, error);
    if (!existed) std::filesystem::permissions(list_.user_dir, std::filesystem::perms::owner_all, error);
    folder_.reset(::open(list_.user_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder_ || ::flock(folder_.get(), LOCK_EX) != 0) return tl::unexpected(unwritable(list_.user_dir, errno));
    return {};
  }

  Result<void> load() {
    auto text = read_settings_text(path_);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return {};
    // The strict one finds what is wrong; this one keeps the order.
    const auto strict = parse_json_strict(**text, path_);
    if (!strict) return tl::unexpected(strict.error());
    document_ = Document::parse(**text);
    return check();
  }

  Document listed() const {
    const Document::json_pointer place("/admission/" + list_.tier + "/allow");
    return document_.contains(place) ? document_.at(place) : Document(list_.base);
  }

  Result<void> check() const {
    const auto issues = core_schema().validate(nlohmann::json::parse(document_.dump()));
    if (issues.empty()) return {};
    return tl::unexpected(broken_setting(path_, issues.front().pointer, issues.front().value, issues.front().rule,
                                         "repair the file first"));
  }

  Result<void> store() const {
    const std::string text = document_.dump(2) + '\n';
    std::string temporary = path_ + ".XXXXXX";
    const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));  // 0600
    if (!file) return tl::unexpected(unwritable(path_, errno));
    int error = 0;
    for (std::size_t done = 0; done < text.size() && error == 0;) {
      const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
      if (count >= 0) {
        done += static_cast<std::size_t>(count);
      } else if (errno != EINTR) {
        error = errno;
      }
    }
    if (error == 0 && ::fsync(file.get()) != 0) error = errno;
    if (error == 0 && ::rename(temporary.c_str(), path_.c_str()) != 0) error = errno;
    if (error == 0) return {};
    ::unlink(temporary.c_str());
    return tl::unexpected(unwritable(path_, error));
  }

  const AllowList& list_;
  std::string path_;
  UniqueFd folder_;
  Document document_ = Document::object();
};

}  // namespace

Result<bool> allow_command(const AllowList& list, const Words& command) { return UserFile(list).change(command, true); }

Result<bool> revoke_command(const AllowList& list, const Words& command) {
  return UserFile(list).change(command, false);
}

}  // namespace exechost::settings
