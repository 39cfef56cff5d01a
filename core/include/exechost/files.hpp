// Files into and out of environments, and what was changed in a copied workspace (docs/files.md).
//
// Value types. Paths are raw bytes: escape them before a terminal sees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exechost/exec_result.hpp"
#include "exechost/export.hpp"
#include "exechost/failure.hpp"

namespace exechost {

// ---- copying ----------------------------------------------------------------------

struct CopyProgress {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> total_entries;  // where it is known before: from this machine
  std::optional<std::uint64_t> total_bytes;
};

struct CopyOptions {
  // Called on the thread that called copy_in and so on, often. Must not throw.
  std::function<void(const CopyProgress&)> on_progress;
  // Out of an environment: symbolic links that stay inside the tree are made. Else none is, and each is reported.
  bool keep_links = false;
};

// A file that was left out, below the source; "" is the source itself.
struct CopySkipped {
  std::string path;
  std::string reason;  // link, socket, fifo, device, unreadable, other
};

struct CopyResult {
  // exited: all of it was copied but for what `skipped` names. timed_out, cancelled, failed: the counts say how far
  // it came; every file that is counted is whole, and the one that was under way was not replaced.
  Status status = Status::failed;
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::uint64_t links = 0;
  std::uint64_t bytes = 0;
  std::vector<CopySkipped> skipped;  // the first hundred
  std::uint64_t skipped_count = 0;
  std::vector<std::string> warnings;
  std::chrono::milliseconds duration{0};
  std::optional<Failure> failure;  // set exactly when status is failed

  // One JSON object as `exechost cp --json` prints it.
  EXECHOST_API std::string to_json() const;
};

// ---- looking and removing -----------------------------------------------------------

enum class FileType { file, folder, link, socket, fifo, device, other };
EXECHOST_API std::string_view to_string(FileType type);

// As the environment tells it.
struct FileEntry {
  std::string name;  // in a list: within the folder; else the path as it was given
  FileType type = FileType::other;
  std::uint32_t mode = 0;                // permission, set-id and sticky bits
  std::uint64_t size = 0;                // bytes
  std::chrono::nanoseconds modified{0};  // the content, since 1970 UTC
};

// ---- a copied workspace (workspace.mode copy) -----------------------------------------

enum class ChangeKind { added, modified, deleted, mode_changed, type_changed };
EXECHOST_API std::string_view to_string(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::modified;
  std::string path;        // below the workspace
  std::string type;        // file, folder, link: what it is now, or was when it is deleted
  std::string old_type;    // for type_changed
  std::uint64_t size = 0;  // of a file
  std::uint32_t mode = 0;  // permission bits
  std::string target;      // of a link
};

struct ChangeList {
  std::string workspace;
  std::string copy;                  // where the copy lies
  std::vector<Change> changes;       // by path
  std::vector<CopySkipped> skipped;  // sockets and the like, which can't be applied

  // One JSON object as `exechost changes --json` prints it.
  EXECHOST_API std::string to_json() const;
};

enum class ApplyOutcome {
  applied,
  conflict,  // it was changed in the workspace too since the copy was made; nothing was overwritten
  refused,   // protected by the settings, or a link that leads out of the workspace
  failed,    // the system said no
};
EXECHOST_API std::string_view to_string(ApplyOutcome outcome);

struct AppliedChange {
  Change change;
  ApplyOutcome outcome = ApplyOutcome::failed;
  std::string reason;  // in words; empty for applied
};

struct ApplyResult {
  std::vector<AppliedChange> changes;
  std::uint64_t count(ApplyOutcome outcome) const {
    std::uint64_t sum = 0;
    for (const auto& change : changes) sum += change.outcome == outcome ? 1 : 0;
    return sum;
  }
  // One JSON object as `exechost apply --json` prints it.
  EXECHOST_API std::string to_json() const;
};

}  // namespace exechost
