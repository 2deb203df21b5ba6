#pragma once
// Whether the system lets this process have the threads that it needs. libgomp ends a process that cannot
// start one, so dt tries first.

#include <memory>
#include <string>

#include "base/error.hpp"

namespace dt {

/// The limits on threads that apply to this process, by the names under which they are set; "" where none is
/// known.
std::string describe_thread_limits();

/// The environment error of a thread that could not be started, with the limits as its remedy. `count`: of
/// how many, where that is known.
Error thread_error(int error_number, int count = 0);

/// Threads that sleep until the object's end: they show that the system grants as many beside those that the
/// process has. Errors: environment.
class HeldThreads {
 public:
  explicit HeldThreads(int count);
  ~HeldThreads();
  HeldThreads(const HeldThreads&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Starts and joins as many threads at a time. Errors: environment.
inline void require_threads(int count) {
  const HeldThreads held(count);
}

}  // namespace dt
