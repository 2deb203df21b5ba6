#include "tensor/context.hpp"

#include "tensor/time_limit.hpp"

namespace dt {

void Context::finish() const {
  if (!stream_) return;
  if (poll_) {
    const std::unique_ptr<Mark> end = accelerator().mark(*stream_);
    ask_until([&] {
      poll_waiting();
      return end->is_reached();
    });
  } else {
    accelerator().wait(*stream_);
  }
  if (!ahead_) return;
  accelerator().make_graphs(*stream_);
  ahead_.emplace(*stream_);  // counts kernels anew, so that marks divide each step's work alike
}

}  // namespace dt
