#include "base/system/limits.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/system/signals.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace fs = std::filesystem;

namespace {

/// A mounted hierarchy. The folder `folder` shows the cgroup `shown` and its descendants.
struct Hierarchy {
  fs::path folder;
  fs::path shown;
  bool is_v2 = false;
};

/// Returns the mounted hierarchies that have the controller.
std::vector<Hierarchy> hierarchies_of(const fs::path& root, const std::string& controller) {
  std::vector<Hierarchy> found;
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string number, parent, device, shown, folder, type, source, options;
    before >> number >> parent >> device >> shown >> folder;
    after >> type >> source >> options;
    const std::vector<std::string> words = split(options, ',');
    const bool is_v1 = type == "cgroup" && std::find(words.begin(), words.end(), controller) != words.end();
    if (is_v1 || type == "cgroup2")
      found.push_back({root / fs::path(folder).relative_path(), shown, type == "cgroup2"});
  }
  return found;
}

/// Returns this process's cgroup in the version 2 hierarchy, or in the controller's version 1
/// hierarchy. Returns "" if it is in none.
fs::path own_cgroup(const fs::path& root, const std::string& controller, bool is_v2) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
    const bool accounts = std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (is_v2 ? controllers.empty() : accounts) return line.substr(second + 1);
  }
  return {};
}

/// Returns the file's number, or none if the file is missing or says "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::string text;
  std::ifstream(file) >> text;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Calls `visit` with the folder of each of this process's cgroups that has the controller, then
/// with its ancestors.
void visit_cgroups(const fs::path& root, const std::string& controller,
                   const std::function<void(const fs::path& folder, bool is_v2)>& visit) {
  for (const Hierarchy& hierarchy : hierarchies_of(root, controller)) {
    // A container may see its own cgroup as the root, or cgroups outside the mount. The mount's own
    // cgroup is then the right one.
    fs::path cgroup = own_cgroup(root, controller, hierarchy.is_v2).lexically_relative(hierarchy.shown);
    if (cgroup.empty() || *cgroup.begin() == "..") cgroup = ".";
    for (fs::path folder = cgroup;; folder = folder.parent_path()) {
      visit((hierarchy.folder / folder).lexically_normal(), hierarchy.is_v2);
      if (folder.empty() || folder == ".") break;
    }
  }
}

/// Returns QUOTA divided by PERIOD, both in microseconds. Returns none for "max PERIOD" and for -1
/// (version 1).
std::optional<double> cpus_of(const fs::path& folder, bool is_v2) {
  std::int64_t quota_us = 0, period_us = 0;
  if (is_v2) {
    std::ifstream(folder / "cpu.max") >> quota_us >> period_us;
  } else {
    std::ifstream(folder / "cpu.cfs_quota_us") >> quota_us;
    std::ifstream(folder / "cpu.cfs_period_us") >> period_us;
  }
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;
  return static_cast<double>(quota_us) / static_cast<double>(period_us);
}

}  // namespace

std::optional<std::uint64_t> cgroup_memory_bytes(const std::string& root) {
  std::optional<std::uint64_t> least;
  visit_cgroups(root, "memory", [&](const fs::path& folder, bool is_v2) {
    const auto limit = number_in(folder / (is_v2 ? "memory.max" : "memory.limit_in_bytes"));
    if (limit) least = std::min(*limit, least.value_or(*limit));
  });
  return least;
}

std::optional<CpuQuota> cgroup_cpu_quota(const std::string& root) {
  std::optional<CpuQuota> least;
  visit_cgroups(root, "cpu", [&](const fs::path& folder, bool is_v2) {
    const auto cpus = cpus_of(folder, is_v2);
    if (cpus && (!least || *cpus < least->cpus)) least = CpuQuota{*cpus, folder.string()};
  });
  return least;
}

std::optional<PidsLimit> cgroup_pids(const std::string& root) {
  std::optional<PidsLimit> tightest;
  visit_cgroups(root, "pids", [&](const fs::path& folder, bool) {
    const auto max = number_in(folder / "pids.max"), current = number_in(folder / "pids.current");
    if (!max || !current) return;
    const auto free = [](const PidsLimit& l) { return l.max > l.current ? l.max - l.current : 0; };
    const PidsLimit limit{*max, *current};
    if (!tightest || free(limit) < free(*tightest)) tightest = limit;
  });
  return tightest;
}

std::string describe_thread_limits() {
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "" : ", ") + limit; };
  if (const auto pids = cgroup_pids())
    add(fmt::format("pids.max of this process's cgroup is {}, and {} are in use", pids->max, pids->current));
  rlimit processes{};
  if (::getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur != RLIM_INFINITY)
    add(fmt::format("this user's limit of processes and threads (ulimit -u) is {}", processes.rlim_cur));
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    add(fmt::format("the address-space limit (ulimit -v), which also covers each thread's stack, is {} KiB",
                    space.rlim_cur / 1024));
  return text;
}

Error thread_error(int error_number, int count) {
  const std::string limits = describe_thread_limits();
  return Error(ErrorKind::environment,
               fmt::format("cannot start {}: {}", count > 0 ? fmt::format("{} threads", count) : "a thread",
                           std::generic_category().message(error_number)),
               limits.empty() ? "use fewer threads (--threads), or raise the limit (ulimit -u, pids.max)"
                              : fmt::format("{}: use fewer threads (--threads), or raise the limit", limits),
               error_number);
}

struct ReservedThreads::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;
  std::vector<pid_t> numbers;  // thread ids of started threads
  std::vector<std::thread> threads;

  void run() {
    std::unique_lock lock(mutex);
    numbers.push_back(::gettid());
    changed.notify_all();
    changed.wait(lock, [this] { return has_ended; });
  }
  void join() {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return numbers.size() == threads.size(); });
      has_ended = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
    // A joined thread counts towards the limits for another moment.
    for (const pid_t number : numbers) {
      while (::tgkill(::getpid(), number, 0) == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
};

ReservedThreads::ReservedThreads(int count) : state_(std::make_unique<State>()) {
  const ScopedSignalBlock blocked;
  try {
    for (int i = 0; i < count; ++i) state_->threads.emplace_back([state = state_.get()] { state->run(); });
  } catch (const std::system_error& error) {
    state_->join();
    throw thread_error(error.code().value(), count);
  }
}

ReservedThreads::~ReservedThreads() {
  state_->join();
}

}  // namespace dt
