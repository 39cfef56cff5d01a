#include "core/plan/inspector.hpp"

#include <algorithm>

#include "core/plan/machine.hpp"
#include "core/plan/path_watch.hpp"
#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

// A home with more than this is cheaper to ask about each name.
constexpr std::size_t kMaxListed = 1024;
// Listing costs as much as looking for about so many.
constexpr std::size_t kAskedOneByOne = 3;

// Some file systems take one case for the other (ext4 and f2fs with casefold, many network ones):
// a name that is there in another case may be the one that is asked about. So may one with letters
// that are not ASCII: the Kelvin sign is a k there.
bool is_ascii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char letter) { return static_cast<unsigned char>(letter) < 0x80; });
}

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

bool lower_case_less(std::string_view listed, std::string_view name) {
  return std::lexicographical_compare(listed.begin(), listed.end(), name.begin(), name.end(),
                                      [](char left, char right) { return lower(left) < lower(right); });
}

std::optional<std::vector<std::string>> list(const std::string& folder) {
  auto names = names_in(folder, kMaxListed + 1);
  if (!names || names->size() > kMaxListed || !std::all_of(names->begin(), names->end(), is_ascii)) return std::nullopt;
  std::sort(names->begin(), names->end(), lower_case_less);
  return names;
}

}  // namespace

const PathFact& Inspector::at(const std::string& path) {
  const auto known = facts_.find(path);
  return known != facts_.end() ? known->second : facts_.emplace(path, look(path)).first->second;
}

PathFact Inspector::look(const std::string& path) {
  if (watch_ == nullptr) return inspect_path(path);
  // Where links lead is known only by looking; once everything on the way is watched, the look counts.
  watch_->cover(path);
  std::vector<std::string> way;
  PathFact fact = inspect_path(path, &way);
  constexpr int kMostRounds = 4;  // somebody may be changing them all the time
  for (int round = 0; !way.empty(); ++round) {
    for (const std::string& place : way) watch_->cover(place);
    std::vector<std::string> again;
    fact = inspect_path(path, &again);
    if (again == way) break;
    if (round == kMostRounds) watch_->give_up();
    if (round == kMostRounds) break;
    way = std::move(again);
  }
  return fact;
}

std::optional<std::vector<std::string>> Inspector::names(const std::string& folder, std::size_t limit) {
  if (watch_ != nullptr) watch_->cover_every_name(folder);
  return names_in(folder, limit);
}

bool Inspector::may_have(const std::string& path, std::string_view name) {
  if (watch_ != nullptr) watch_->cover(join_path(at(path).landing, std::string(name)));
  Folder& folder = folders_[path];
  if (++folder.asked <= kAskedOneByOne) return true;
  if (folder.asked == kAskedOneByOne + 1) folder.names = list(path);
  return !folder.names || std::binary_search(folder.names->begin(), folder.names->end(), name, lower_case_less);
}

const PathFact* Inspector::existing_below(const std::string& folder, std::string_view name) {
  std::string place = folder;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view component = name.substr(begin, end - begin);
    if (!may_have(place, component)) return nullptr;
    place = join_path(place, component);
    begin = end + 1;
  }
  const PathFact& fact = at(place);
  return fact.kind == FileKind::missing ? nullptr : &fact;
}

}  // namespace exechost::plan
