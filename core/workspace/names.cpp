// The names used in JSON and on the command line.
#include "exechost/files.hpp"

namespace exechost {

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "added";
    case ChangeKind::modified: return "modified";
    case ChangeKind::deleted: return "deleted";
    case ChangeKind::mode_changed: return "mode_changed";
    case ChangeKind::type_changed: return "type_changed";
  }
  return "modified";
}

std::string_view to_string(ApplyOutcome outcome) {
  switch (outcome) {
    case ApplyOutcome::applied: return "applied";
    case ApplyOutcome::conflict: return "conflict";
    case ApplyOutcome::refused: return "refused";
    case ApplyOutcome::failed: return "failed";
  }
  return "failed";
}

}  // namespace exechost
