#pragma once
// A check that the system grants this process the threads that it needs. libgomp ends a process
// that cannot start a thread, so dt tries first.

#include <memory>
#include <string>

#include "base/error.hpp"

namespace dt {

/// Returns the limits on threads that apply to this process, with the names under which they are
/// set. Returns "" if none is known.
std::string describe_thread_limits();

/// Returns the environment error about a thread that could not be started, with the limits as its
/// remedy. `count` is the number of threads wanted, or 0 if unknown.
Error thread_error(int error_number, int count = 0);

/// Threads that sleep until the object's destruction. They prove that the system grants that many
/// in addition to the process's other threads.
/// Errors: environment.
class ReservedThreads {
 public:
  explicit ReservedThreads(int count);
  ~ReservedThreads();
  ReservedThreads(const ReservedThreads&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Checks that `count` threads can run at a time by starting and joining them.
/// Errors: environment.
inline void require_threads(int count) {
  const ReservedThreads held(count);
}

}  // namespace dt
