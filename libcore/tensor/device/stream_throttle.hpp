#pragma once
// Bounds how far the host runs ahead of a device. A driver's queue is bounded (CUDA's holds about a
// thousand pieces of work). A caller that enqueues more blocks there without a time limit, and
// sends no messages.

#include <functional>
#include <memory>

#include "tensor/device/accelerator.hpp"

namespace dt {

/// The bound of one stream.
class StreamThrottle {
 public:
  /// The number of kernels between two events; a kernel may be several pieces of work. The first
  /// event comes early, since it enqueues deferred work (Accelerator::defer) on a device that is
  /// still idle.
  static constexpr int kernels_between_events = 64, kernels_before_first_event = 8;

  explicit StreamThrottle(Stream stream) : stream_(stream) {}
  /// Waits if the host is too far ahead, so that at most 2 · kernels_between_events kernels are
  /// under way. Calls `overlapped_work` repeatedly during the wait. Call before each kernel.
  /// Errors: those of Event.
  void wait_if_ahead(const std::function<void()>& overlapped_work);

 private:
  Stream stream_;
  int num_enqueued_ = kernels_between_events - kernels_before_first_event;  // since the last event
  std::unique_ptr<Event> last_event_;
};

}  // namespace dt
