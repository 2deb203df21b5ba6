#include "tensor/context.hpp"

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

void Context::synchronize() const {
  if (!stream_) return;
  if (poll_) {
    const std::unique_ptr<Event> end = accelerator().record_event(*stream_);
    poll_until([&] {
      poll_waiting();
      return end->is_complete();
    });
  } else {
    accelerator().synchronize(*stream_);
  }
  if (!throttle_) return;
  accelerator().instantiate_graphs(*stream_);
  throttle_.emplace(*stream_);  // counts kernels anew, so that events divide each step's work alike
}

}  // namespace dt
