#pragma once
// CUDA's graphs: what a stream is given, as one thing to launch.

#include "tensor/accelerator.hpp"
#include "tensor/repeating_work.hpp"

namespace dt::cuda {

/// As RepeatingWork wants it, for a stream of that device. What a stream must not be given while it is
/// captured, and whatever fails there, makes it empty, and is said once: given as it is, it may do.
RepeatingWork::Enqueue capture(Device device, Stream stream, const RepeatingWork::Enqueue& enqueue);

}  // namespace dt::cuda
