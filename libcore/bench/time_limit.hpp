#pragma once
// Reports an operation that has not ended in time, even if the thread that runs it is stuck.

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.hpp"

namespace dt::bench {

/// Limits the time between begin() and end(), at no cost to the work between them.
/// Thread safety: one thread calls begin() and end().
class DeadlineTimer {
 public:
  /// The limit's own thread calls `on_timeout` once, with an Error{environment} that names the
  /// operation. `on_timeout` should end the process, and must not throw. end() waits for it.
  /// Errors: environment, no thread can be started.
  DeadlineTimer(double seconds, std::function<void(const Error&)> on_timeout);
  ~DeadlineTimer();
  DeadlineTimer(const DeadlineTimer&) = delete;

  /// Starts the time of `what`: "all_reduce of 8 bytes".
  void begin(std::string what);
  void end();

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  void run(const std::stop_token& stop);

  double seconds_;
  std::function<void(const Error&)> on_timeout_;
  std::mutex mutex_;
  std::condition_variable_any sleep_;
  std::string what_;
  double due_s_ = never;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace dt::bench
