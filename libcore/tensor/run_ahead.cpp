#include "tensor/run_ahead.hpp"

#include <utility>

#include "tensor/time_limit.hpp"

namespace dt {

void RunAhead::next(const std::function<void()>& meanwhile) {
  if (++given_ < kernels_between_marks) return;
  given_ = 0;
  std::unique_ptr<Mark> here = accelerator().mark(stream_);
  if (last_) {
    ask_until([&] {
      meanwhile();
      return last_->is_reached();
    });
  }
  last_ = std::move(here);
}

}  // namespace dt
