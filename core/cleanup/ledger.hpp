// The record of every resource we created, from before it exists until it is gone.
//
// One file per resource in the runtime folder, made with O_TMPFILE, locked (OFD lock,
// close-on-exec) and only then linked under its name; removed when the resource's removal
// was confirmed. A free lock means nobody keeps it any more. Holds no secret.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/unique_fd.hpp"
#include "core/cleanup/identity.hpp"
#include "exechost/failure.hpp"

namespace exechost::cleanup {

struct LedgerRecord {
  std::string id;  // unique: 32 hex digits
  std::string backend;
  std::string name;  // the resource's predetermined name
  std::string kind;  // "environment"
  std::map<std::string, std::string> labels;
};

// One locked entry. Destroying it without remove() leaves the file, unlocked: an orphan that
// a later start finds.
class LedgerEntry {
 public:
  LedgerEntry(UniqueFd fd, std::string path, LedgerRecord record);
  LedgerEntry(LedgerEntry&&) noexcept;
  LedgerEntry& operator=(LedgerEntry&&) noexcept;
  ~LedgerEntry();
  const LedgerRecord& record() const { return record_; }
  const std::string& path() const { return path_; }
  // Removes the file; only after the resource's removal was confirmed.
  Result<void> remove();

 private:
  UniqueFd fd_;
  std::string path_;
  LedgerRecord record_;
};

class Ledger {
 public:
  // `folder` and the one above it are created 0700 when missing, nothing above these; refused when
  // they are not ours or open to others.
  static Result<Ledger> open(const std::string& folder);
  // Writes and locks an entry. With it on disk the resource may be made.
  Result<LedgerEntry> add(const LedgerRecord& record);
  // Paths of the entries that nobody holds a lock on (of this machine, boot and pid namespace), sorted.
  std::vector<std::string> orphans() const;
  const std::string& folder() const { return folder_; }

 private:
  explicit Ledger(std::string folder);
  std::string folder_;
  Identity here_;  // of the process that opened it, whose entries these are
};

// $XDG_RUNTIME_DIR/exechost when that folder exists and is this user's, else /run/exechost for root, else
// /tmp/exechost-UID.
std::string default_runtime_folder(const std::map<std::string, std::string>& environment);

}  // namespace exechost::cleanup
