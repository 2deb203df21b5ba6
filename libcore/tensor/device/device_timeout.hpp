#pragma once
// Limits how long callers wait for a device, since a device that hangs reports nothing.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/system/host.hpp"

namespace dt {

/// A time limit on the waits for devices.
/// Thread safety: safe from several threads.
class DeviceTimeout {
 public:
  /// Sets the limit; 0: none.
  void set(double seconds) { seconds_ = seconds; }
  bool is_set() const { return seconds_ > 0; }
  /// Returns whether a caller that has waited since `since_s` (monotonic) must stop waiting: its
  /// time is up, or another caller has failed.
  bool is_expired(double since_s) const;
  /// Throws. Later failures throw the same error.
  /// Errors: environment, naming the device, its work, and the time since `since_s`.
  [[noreturn]] void fail(double since_s, const std::string& device, const std::string& work);
  /// Returns whether a caller has failed. Memory that a device may still touch must then stay
  /// allocated.
  bool has_expired() const { return has_expired_; }

 private:
  std::atomic<double> seconds_ = 0;
  std::atomic<bool> has_expired_ = false;
  std::mutex mutex_;
  std::optional<Error> reason_;
};

/// Pauses a caller between two questions, after it has asked in vain for `asked_for_s`. The pause
/// is a yield at first. Later it is 1/200 of that time, at most a millisecond, so that the caller
/// is late by no more.
void poll_backoff(double asked_for_s);

/// Asks until the answer is yes.
template <class Question>
void poll_until(const Question& is_so) {
  const double since_s = monotonic_s();
  while (!is_so()) poll_backoff(monotonic_s() - since_s);
}

}  // namespace dt
