#include "tensor/context.hpp"

#include "tensor/time_limit.hpp"

namespace dt {

void Context::finish() const {
  if (!stream_) return;
  if (!poll_) return accelerator().wait(*stream_);
  const std::unique_ptr<Mark> end = accelerator().mark(*stream_);
  ask_until([&] {
    poll();
    return end->is_reached();
  });
}

}  // namespace dt
