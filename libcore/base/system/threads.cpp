#include "base/system/threads.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <signal.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/system/cgroup.hpp"
#include "base/system/signals.hpp"

namespace dt {

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
    add(fmt::format("the address space, of which each thread's stack takes some (ulimit -v), is {} KiB",
                    space.rlim_cur / 1024));
  return text;
}

Error thread_error(int error_number, int count) {
  const std::string limits = describe_thread_limits();
  return Error(ErrorKind::environment,
               fmt::format("cannot start {}: {}", count > 0 ? fmt::format("{} threads", count) : "a thread",
                           std::generic_category().message(error_number)),
               limits.empty() ? "ask for fewer (--threads), or raise the limit (ulimit -u, pids.max)"
                              : fmt::format("{}: ask for fewer (--threads), or raise the limit", limits),
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
