#include "core/files/measure.hpp"

#include <algorithm>

namespace exechost::files {
namespace {

// Takes no content: the source passes over it unread.
class Nowhere final : public EntrySink {
 public:
  Result<void> begin(const Entry& /*entry*/) override { return {}; }
  Result<void> write(std::string_view /*bytes*/) override { return {}; }
  Result<void> end() override { return {}; }
  Result<void> finish() override { return {}; }
};

// The tree with its files empty but for their size in the books.
class Sizes final : public EntrySource {
 public:
  explicit Sizes(LocalTree& tree) : tree_(tree) {}
  Result<bool> next(Entry& entry) override {
    auto found = tree_.next(entry);
    left_ = found && *found ? entry.size : 0;
    return found;
  }
  Result<std::size_t> read(char* /*buffer*/, std::size_t size) override {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    left_ -= part;
    return part;
  }

 private:
  LocalTree& tree_;
  std::uint64_t left_ = 0;
};

}  // namespace

Result<Counts> measure(int folder, const std::string& name, const std::string& shown, const TransferOptions& options) {
  LocalTreeOptions tree_options;
  tree_options.limits = options.limits;
  auto tree = LocalTree::open(folder, name, shown, std::move(tree_options));
  if (!tree) return unexpected(tree.error());
  Sizes sizes(**tree);
  Nowhere nowhere;
  Counts counts;
  TransferOptions quiet = options;
  quiet.on_progress = nullptr;
  if (auto measured = transfer(sizes, nowhere, quiet, counts); !measured) return unexpected(measured.error());
  return counts;
}

}  // namespace exechost::files
