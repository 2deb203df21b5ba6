#include "tensor/device/stream_throttle.hpp"

#include <utility>

#include "tensor/device/device_timeout.hpp"

namespace dt {

void StreamThrottle::wait_if_ahead(const std::function<void()>& overlapped_work) {
  if (++num_enqueued_ < kernels_between_events) return;
  num_enqueued_ = 0;
  std::unique_ptr<Event> here = accelerator().record_event(stream_);
  if (last_event_) {
    poll_until([&] {
      overlapped_work();
      return last_event_->is_complete();
    });
  }
  last_event_ = std::move(here);
}

}  // namespace dt
