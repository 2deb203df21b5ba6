#include "tensor/context.hpp"

#include "tensor/device/device_timeout.hpp"

namespace dt {

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
