#pragma once
// For how long a device is waited for: one that hangs says nothing.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt {

/// Thread-safe.
class TimeLimit {
 public:
  /// 0: none.
  void set(double seconds) { seconds_ = seconds; }
  bool is_set() const { return seconds_ > 0; }
  /// Whether who has waited since then (monotonic) must not go on, or somebody else has waited in vain.
  bool is_over(double since_s) const;
  /// Error{environment}: so long it has been waited for the device's work. Whoever fails after that is told
  /// the same.
  [[noreturn]] void fail(double since_s, const std::string& device, const std::string& work);
  /// Somebody has failed: what a device may still touch must stay.
  bool has_passed() const { return has_passed_; }

 private:
  std::atomic<double> seconds_ = 0;
  std::atomic<bool> has_passed_ = false;
  std::mutex mutex_;
  std::optional<Error> reason_;
};

/// Between two questions of who has asked in vain for so long: at first hardly at all, later for a two
/// hundredth of that time, so that nobody comes late by more, and at most for a millisecond.
void pause_between_questions(double asked_for_s);

/// Asks until it is so.
template <class Question>
void ask_until(const Question& is_so) {
  const double since_s = monotonic_s();
  while (!is_so()) pause_between_questions(monotonic_s() - since_s);
}

}  // namespace dt
