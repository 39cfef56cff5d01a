#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <system_error>

#include "bench/spawn.hpp"
#include "bench/subjects/subjects.hpp"
#include "core/base/unique_fd.hpp"
#include "core/host/host_core.hpp"
#include "plugins/bwrap/arguments.hpp"

namespace exechost::bench {
namespace {

// Above whatever this program has open itself.
constexpr int kFirstMask = 400;

plan::Plan plan_for_bwrap(const Place& place) {
  host::HostCore core(place.host_options(KeeperPlacement::in_process));
  Request request;
  request.argv = {"/bin/true"};
  request.backend = "bwrap";
  const auto prepared = core.planner().prepare(request);
  if (!prepared) throw std::runtime_error(describe(prepared.error()));
  const auto plan = plan::make_plan({request, *prepared->settings, prepared->backends, *prepared->facts});
  if (!plan) throw std::runtime_error(describe(plan.error()));
  return *plan;
}

// The options that the plugin gives bwrap, with empty files for what is masked.
class BwrapOptions {
 public:
  explicit BwrapOptions(const Place& place) {
    plan::OpenIdentity identity;
    identity.id = identity.name = "bench";
    identity.guest_path = built("libexec/exechost/exechost-guest");
    bwrap::DescriptorNumbers numbers;
    numbers.first_mask = kFirstMask;
    const bwrap::Rendered rendered = bwrap::render(plan::open_document(plan_for_bwrap(place), identity), numbers);
    for (const std::string& option : rendered.options) (text_ += option) += '\0';
    for (std::size_t i = 0; i < rendered.mask_count; ++i) {
      const UniqueFd empty(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      masks_.emplace_back(::dup2(empty.get(), kFirstMask + static_cast<int>(i)));
    }
  }

  // A descriptor that bwrap inherits, to read them from.
  UniqueFd descriptor() const {
    UniqueFd fd(::memfd_create("bwrap-options", 0));
    if (::write(fd.get(), text_.data(), text_.size()) != static_cast<ssize_t>(text_.size()) ||
        ::lseek(fd.get(), 0, SEEK_SET) != 0) {
      throw std::system_error(errno, std::generic_category(), "memfd");
    }
    return fd;
  }

 private:
  std::string text_;
  std::vector<UniqueFd> masks_;
};

std::vector<std::string> command_line(const UniqueFd& options) {
  return {"/usr/bin/bwrap", "--args", std::to_string(options.get()), "--", "/bin/true"};
}

}  // namespace

Once raw_bwrap(const Place& place) {
  auto options = std::make_shared<const BwrapOptions>(place);
  return [options, &place] {
    const UniqueFd descriptor = options->descriptor();
    return spawn_and_wait(command_line(descriptor), place.environment(), place.workspace());
  };
}

Once parallel_raw_bwraps(const Place& place, int count) {
  auto options = std::make_shared<const BwrapOptions>(place);
  return [options, &place, count] {
    std::vector<pid_t> pids;
    const Stopwatch watch;
    for (int i = 0; i < count; ++i) {
      const UniqueFd descriptor = options->descriptor();
      pids.push_back(spawn(command_line(descriptor), place.environment(), place.workspace()));
    }
    for (const pid_t pid : pids) wait_for_success(pid, "bwrap");
    return watch.microseconds();
  };
}

}  // namespace exechost::bench
