#include "tensor/device/device_timeout.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace dt {

bool DeviceTimeout::is_expired(double since_s) const {
  const double limit_s = seconds_;
  return has_expired_ || (limit_s > 0 && monotonic_s() - since_s >= limit_s);
}

void DeviceTimeout::fail(double since_s, const std::string& device, const std::string& work) {
  const std::lock_guard lock(mutex_);
  if (!reason_)
    reason_.emplace(
        ErrorKind::environment,
        fmt::format("{}: {} did not complete within {:.1f} s", device, work, monotonic_s() - since_s),
        "it hangs, or takes longer than --comm-timeout: if dmesg or nvidia-smi -q on that host show Xid "
        "errors, use another node");
  has_expired_ = true;
  throw Error(*reason_);
}

void poll_backoff(double asked_for_s) {
  constexpr double soon_s = 0.02, longest_s = 0.001;
  if (asked_for_s < soon_s) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(asked_for_s / 200, longest_s)));
}

}  // namespace dt
