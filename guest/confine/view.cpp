#include "guest/confine/view.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "guest/confine/place.hpp"

namespace exechost::guest {

namespace {

// 0, or errno.
int check_one(const ViewCheck& check) {
  const int fd = open_place(check.path);
  if (fd < 0) {
    switch (errno) {
      // Out of the guest's reach, and so of the command's, which is the same user without privileges. Yet
      // what has to be there was reachable when the plan was made: whoever owns the folder above has
      // closed it since, and can open it again after this look.
      case EACCES:
      case ENOENT:
      case ENOTDIR: return check.same ? ESTALE : 0;
      case ELOOP: return ESTALE;
      default: return errno;
    }
  }
  struct stat status {};
  const int error = ::fstat(fd, &status) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) return error;
  const bool is_it = status.st_dev == check.device && status.st_ino == check.inode;
  return is_it == check.same ? 0 : ESTALE;
}

}  // namespace

Outcome check_view(const Spec& spec) {
  for (std::size_t i = 0; i < spec.view_check_count; ++i) {
    if (const int error = check_one(spec.view_checks[i]); error != 0) {
      return failure(Step::view, error, static_cast<int>(i));
    }
  }
  return success();
}

}  // namespace exechost::guest
