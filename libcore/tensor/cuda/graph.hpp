#pragma once
// Makes CUDA graphs: what a stream is given, as one thing to launch.

#include "tensor/accelerator.hpp"
#include "tensor/repeating_work.hpp"

namespace dt::cuda {

/// Captures work for RepeatingWork, for a stream of that device. Returns an empty function if the work
/// holds what a stream must not be given during a capture, or if anything fails there; the work may
/// still run as it is. Warns once.
RepeatingWork::Enqueue capture(Device device, Stream stream, const RepeatingWork::Enqueue& enqueue);

}  // namespace dt::cuda
