#pragma once
// Limits the time for which a device is waited for: a device that hangs says nothing.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt {

/// A time limit on the waits for devices.
/// Thread safety: safe from several threads.
class TimeLimit {
 public:
  /// Sets the limit; 0: none.
  void set(double seconds) { seconds_ = seconds; }
  bool is_set() const { return seconds_ > 0; }
  /// Returns whether a caller that has waited since then (monotonic) must not go on. It must not if
  /// another caller has waited in vain.
  bool is_over(double since_s) const;
  /// Throws. Later failures throw the same error.
  /// Errors: environment, naming the device, its work, and the time since `since_s`.
  [[noreturn]] void fail(double since_s, const std::string& device, const std::string& work);
  /// Returns whether a caller has failed. What a device may still touch must then stay.
  bool has_passed() const { return has_passed_; }

 private:
  std::atomic<double> seconds_ = 0;
  std::atomic<bool> has_passed_ = false;
  std::mutex mutex_;
  std::optional<Error> reason_;
};

/// Pauses between two questions of a caller that has asked in vain for `asked_for_s`. The pause is
/// short at first, later a two hundredth of that time, so that no caller comes late by more, and at
/// most a millisecond.
void pause_between_questions(double asked_for_s);

/// Asks until the answer is yes.
template <class Question>
void ask_until(const Question& is_so) {
  const double since_s = monotonic_s();
  while (!is_so()) pause_between_questions(monotonic_s() - since_s);
}

}  // namespace dt
