#pragma once
// Says what has not ended in time, while whoever does it is stuck in it.

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.hpp"

namespace dt::bench {

/// begin() and end() are for one thread; what lies between them costs nothing.
class TimeLimit {
 public:
  /// `on_timeout` is called once, on a thread of the limit's own, with what has not ended
  /// (Error{environment}); end() waits for it. It is expected to end the process and must not throw. Errors:
  /// environment, where no thread can be had.
  TimeLimit(double seconds, std::function<void(const Error&)> on_timeout);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;

  /// From now on `what` is under way: "all_reduce of 8 bytes".
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
