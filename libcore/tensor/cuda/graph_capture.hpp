#pragma once
// Makes CUDA graphs, each of which launches a stretch of a stream's work by one call.

#include "tensor/device/accelerator.hpp"
#include "tensor/device/graph_cache.hpp"

namespace dt::cuda {

/// Captures work for GraphCache, and returns a function that launches it on `stream`. Returns an
/// empty function if the work cannot be captured, or if a call of CUDA fails; the work can still be
/// enqueued as it is. Warns once.
GraphCache::Enqueue capture(Device device, Stream stream, const GraphCache::Enqueue& enqueue);

}  // namespace dt::cuda
