#include "bench/time_limit.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "base/system/signals.hpp"

namespace dt::bench {

namespace {

constexpr double longest_sleep_s = 3600;  // an unbounded time has more nanoseconds than clocks count

}  // namespace

DeadlineTimer::DeadlineTimer(double seconds, std::function<void(const Error&)> on_timeout)
    : seconds_(seconds), on_timeout_(std::move(on_timeout)) {
  const ScopedSignalBlock blocked;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& error) {
    throw thread_error(error.code().value());
  }
}

DeadlineTimer::~DeadlineTimer() = default;

void DeadlineTimer::begin(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  due_s_ = monotonic_s() + seconds_;
}

void DeadlineTimer::end() {
  const std::lock_guard lock(mutex_);
  due_s_ = never;
}

void DeadlineTimer::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const double now_s = monotonic_s();
    if (now_s >= due_s_) {
      return on_timeout_(Error(ErrorKind::environment,
                               fmt::format("{} did not complete within {} s", what_, seconds_),
                               "a rank or a link is stalled, or slower than --timeout allows"));
    }
    // Work that begins during this sleep is not due before the sleep ends. So nothing has to wake this
    // thread, which would disturb what is timed.
    const double sleep_s = std::min({due_s_ - now_s, seconds_, longest_sleep_s});
    sleep_.wait_for(lock, stop, std::chrono::duration<double>(sleep_s), [] { return false; });
  }
}

}  // namespace dt::bench
