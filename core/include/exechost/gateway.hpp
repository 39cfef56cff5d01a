// Light file operations inside the calling process, without starting anything: what an agent does
// most, at the price of some system calls.
//
//   auto gateway = exechost::gateway::Gateway::open(policy);
//   auto content = gateway->read_file("src/main.cpp");
//
// Every path is resolved by the kernel (openat2) beneath the workspace or beneath a folder that
// filesystem.allow_read names: never over a link that leads out, never onto another mount, never
// through the kernel's own links (/proc/self/fd and the like). Only regular files and folders are
// opened; FIFOs, sockets and devices are named in listings and by stat(), and that is all.
//
// A path is absolute or relative to the workspace, in bytes; it need not be UTF-8. An absolute
// symbolic link is refused even where it leads back inside.
//
// Failures have phase `run`. `denied`: the policy or the kernel says no (`step` is "policy" for the
// former). `invalid_request`: not there, of the wrong kind, too big. `unsupported`: this kernel has
// no openat2. `unavailable`: input and output errors, no space, a name that kept changing; also
// ETIMEDOUT and ECANCELED for a deadline and a stop. error_number is set in all of them.
//
// All members are const and safe to call from any thread; none blocks on anything but the file
// system itself, and all look at the deadline and the stop token between pieces of at most 1 MiB.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exechost/export.hpp"
#include "exechost/failure.hpp"

namespace exechost::gateway {

// How long an operation may take.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;
};

// ---- what may be touched -----------------------------------------------------------

// A place that paths may begin at. `source` is a folder or a regular file of the host with all
// links resolved; `path` is the name it is asked for by, mostly the same.
struct Root {
  std::string path;
  std::string source;
  bool operator==(const Root&) const = default;
};

enum class Access { hidden, readable, writable };

// What holds for a path of the host and everything below it; the deepest zone decides. Where no
// zone is, nothing is visible.
struct Zone {
  std::string path;  // absolute, normal, links resolved
  Access access = Access::hidden;
  bool operator==(const Zone&) const = default;
};

// Names that decide what is run outside later: never written, at any depth, whatever their case.
// An entry is one name (".bashrc") or several joined by "/" (".claude/commands"); it covers
// everything below.
using ProtectedNames = std::vector<std::string>;
EXECHOST_API ProtectedNames default_protected_names();

struct Limits {
  std::uint64_t read_bytes = 16ULL * 1024 * 1024;    // returned by one read_file
  std::uint64_t write_bytes = 64ULL * 1024 * 1024;   // taken by one write_file
  std::uint64_t file_bytes = 1024ULL * 1024 * 1024;  // read of one file in passing (hash, search, commands)
  std::uint64_t line_bytes = 16ULL * 1024 * 1024;    // one line, where lines matter
  std::uint64_t folder_entries = 100'000;            // of one folder
  std::uint64_t walk_entries = 1'000'000;            // of one tree
};

struct Policy {
  std::string workspace;    // absolute, links resolved: where relative paths begin; the only place that is written
  std::vector<Root> roots;  // the workspace among them
  std::vector<Zone> zones;
  std::vector<std::string> own;  // ExecHost's own files: hidden with everything below, whatever a zone says
  ProtectedNames protected_names = default_protected_names();
  Limits limits;
};

// ---- answers -----------------------------------------------------------------------

enum class FileKind {
  regular,
  folder,
  symlink,
  other,  // FIFO, socket, device
};

struct FileInfo {
  FileKind kind = FileKind::other;
  std::uint64_t size = 0;  // bytes
  mode_t mode = 0;         // permission bits with set-id and sticky, without the kind
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t links = 0;
  std::uint64_t inode = 0;
  std::chrono::nanoseconds modified{0};  // since 1970-01-01 UTC
};

struct ReadRange {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> limit;  // not set: Limits::read_bytes; never more than that
};
struct FileContent {
  std::string bytes;
  std::uint64_t total_bytes = 0;  // of the whole file when it was opened
  bool truncated = false;         // the file goes on behind `bytes`
};

struct WriteOptions {
  bool create = true;          // may make a file that is not there
  bool replace = true;         // may replace one that is
  std::optional<mode_t> mode;  // permission bits (0777); not set: kept, or 0666 less the umask for a new file
};

struct FolderEntry {
  std::string name;
  FileKind kind = FileKind::other;
  bool operator==(const FolderEntry&) const = default;
};
struct FolderListing {
  std::vector<FolderEntry> entries;  // sorted by bytes; without "." and "..", and without what is hidden
  bool truncated = false;            // there were more than Limits::folder_entries
};

struct FindOptions {
  std::string name;  // shell pattern for the last name, as in find -name; empty: all
  std::optional<FileKind> kind;
  std::optional<std::uint64_t> max_depth;  // 0: only the start
  std::uint64_t max_results = 10'000;
};
struct Found {
  std::string path;  // relative to the start; "" is the start itself
  FileKind kind = FileKind::other;
  bool operator==(const Found&) const = default;
};
struct FindResult {
  std::vector<Found> found;      // parents before children, siblings sorted by bytes; links are not followed
  bool truncated = false;        // stopped at max_results or Limits::walk_entries
  std::vector<Failure> skipped;  // folders that could not be read; the first 100
};

struct SearchOptions {
  std::string text;          // looked for as it is; not empty, no newline
  bool ignore_case = false;  // of ASCII letters
  std::string name;          // as in FindOptions: only files with such a name
  std::optional<std::uint64_t> max_depth;
  std::uint64_t max_results = 1'000;
  std::uint64_t max_line_bytes = 4'096;  // how much of a line is returned
};
struct SearchMatch {
  std::string path;        // relative to the start; "" when the start is a file
  std::uint64_t line = 0;  // from 1; 0 for a binary file, which is reported once
  std::string text;        // the line without its end; empty for a binary file
  bool truncated = false;  // the line is longer than `text`
  bool binary = false;     // the file holds NUL bytes
  bool operator==(const SearchMatch&) const = default;
};
struct SearchResult {
  std::vector<SearchMatch> matches;
  std::uint64_t files_searched = 0;
  bool truncated = false;        // stopped at max_results or Limits::walk_entries
  std::vector<Failure> skipped;  // what could not be read; the first 100
};

// ---- operations --------------------------------------------------------------------

class EXECHOST_API Gateway {
 public:
  // Opens the roots. Fails when the workspace can't be opened or this kernel has no openat2; another
  // root that is not there gives nothing.
  static Result<Gateway> open(Policy policy);

  // Exactly the file's bytes from `range.offset` on; none when that is at or behind its end.
  Result<FileContent> read_file(std::string_view path, const ReadRange& range = {},
                                const Patience& patience = {}) const;

  // Atomic: whoever reads meanwhile sees the old content or the new, whole. The file is replaced by a
  // new one in the same folder, so other hard links keep the old content. Permission bits and owner
  // are kept, set-id bits are not; a file with an access list, or whose owner could not be kept, is
  // refused. Not synced to the disk: after a power failure either content may be there. Folders are
  // not created. A link that leads inside is followed; one that leads nowhere is refused.
  Result<void> write_file(std::string_view path, std::string_view bytes, const WriteOptions& options = {},
                          const Patience& patience = {}) const;

  Result<FolderListing> list_dir(std::string_view path, const Patience& patience = {}) const;

  // Of any kind of file, without opening it. follow_link false: of a link itself.
  Result<FileInfo> stat(std::string_view path, bool follow_link = true, const Patience& patience = {}) const;

  Result<FindResult> find(std::string_view start, const FindOptions& options, const Patience& patience = {}) const;

  // In one file, or in every regular file below a folder; links below it are not followed.
  Result<SearchResult> search(std::string_view start, const SearchOptions& options,
                              const Patience& patience = {}) const;

  // Lower-case hex.
  Result<std::string> sha256(std::string_view path, const Patience& patience = {}) const;

  // For ExecHost's own code (core/gateway/commands).
  struct Parts;
  const Parts& parts() const { return *parts_; }

 private:
  explicit Gateway(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace exechost::gateway
