#pragma once
// What communication takes from a rank's computing.

#include "base/host.hpp"
#include "parallel/groups.hpp"

namespace dt::parallel {

/// Adds the time until it goes to a sum, but for that in which what is sent was not there yet, as the rank's
/// device was still computing it. Groups and sum must outlive it.
class ExposedTime {
 public:
  ExposedTime(const Groups& groups, double& sum_s)
      : groups_(groups),
        sum_s_(sum_s),
        waited_before_s_(groups.waited_for_device_s()),
        started_s_(monotonic_s()) {}
  ExposedTime(const ExposedTime&) = delete;
  ~ExposedTime() {
    sum_s_ += monotonic_s() - started_s_ - (groups_.waited_for_device_s() - waited_before_s_);
  }

 private:
  const Groups& groups_;
  double& sum_s_;
  double waited_before_s_, started_s_;
};

}  // namespace dt::parallel
