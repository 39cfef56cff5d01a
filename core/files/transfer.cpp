#include "core/files/transfer.hpp"

#include <array>
#include <cerrno>
#include <memory>

#include "core/files/beneath.hpp"
#include "core/files/failures.hpp"

namespace exechost::files {
namespace {

constexpr std::size_t kChunk = 256UL * 1024;
constexpr std::uint64_t kReportBytes = 1024UL * 1024;

class Transfer {
 public:
  Transfer(EntrySource& source, EntrySink& sink, const TransferOptions& options, Counts& counts)
      : source_(source), sink_(sink), options_(options), counts_(counts) {}

  Result<void> run() {
    Entry entry;
    for (;;) {
      if (auto wanted = still_wanted(entry); !wanted) return wanted;
      auto found = source_.next(entry);
      if (!found) return unexpected(found.error());
      if (!*found) return sink_.finish();
      if (auto passed = pass(entry); !passed) return passed;
      if (options_.on_progress) options_.on_progress(counts_);
    }
  }

 private:
  Result<void> still_wanted(const Entry& entry) const {
    if (!options_.wanted || options_.wanted()) return {};
    return unexpected(from_errno(entry.path, "wait", ECANCELED));
  }

  Result<void> check(const Entry& entry) const {
    const Limits& limits = options_.limits;
    if (counts_.entries() >= limits.entries)
      return unexpected(over_limit(entry.path, "files.max_entries", limits.entries));
    // The root is at depth 0; what is in it at 1, and so on.
    if (depth_of(entry.path) > limits.depth) return unexpected(over_limit(entry.path, "files.max_depth", limits.depth));
    if (entry.size > limits.bytes - counts_.bytes) {
      return unexpected(over_limit(entry.path, "files.max_bytes", limits.bytes));
    }
    return {};
  }

  Result<void> pass(const Entry& entry) {
    if (auto within = check(entry); !within) return within;
    if (auto begun = sink_.begin(entry); !begun) return begun;
    switch (entry.kind) {
      case Kind::folder: ++counts_.folders; return {};
      case Kind::link: ++counts_.links; return {};
      case Kind::file: break;
    }
    if (auto passed = content(entry); !passed) return passed;
    if (auto ended = sink_.end(); !ended) return ended;
    ++counts_.files;
    counts_.bytes += entry.size;
    return {};
  }

  Result<void> content(const Entry& entry) {
    Counts so_far = counts_;
    std::uint64_t reported = 0;
    for (std::uint64_t done = 0; done < entry.size;) {
      if (auto wanted = still_wanted(entry); !wanted) return wanted;
      auto count = source_.read(buffer_->data(), buffer_->size());
      if (!count) return unexpected(count.error());
      if (*count == 0) return unexpected(from_errno(entry.path, "read", ESTALE));
      if (auto written = sink_.write({buffer_->data(), *count}); !written) return written;
      done += *count;
      if (options_.on_progress && done - reported >= kReportBytes) {
        reported = done;
        so_far.bytes = counts_.bytes + done;
        options_.on_progress(so_far);
      }
    }
    return {};
  }

  EntrySource& source_;
  EntrySink& sink_;
  const TransferOptions& options_;
  Counts& counts_;
  std::unique_ptr<std::array<char, kChunk>> buffer_ = std::make_unique<std::array<char, kChunk>>();
};

}  // namespace

Result<void> transfer(EntrySource& source, EntrySink& sink, const TransferOptions& options, Counts& counts) {
  return Transfer(source, sink, options, counts).run();
}

}  // namespace exechost::files
