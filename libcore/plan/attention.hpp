#pragma once
// Describes attention on GPUs as a plan needs it, for estimates, recorded conditions and the
// announcement at the start.

#include <string>

#include "kernels/attention.hpp"
#include "kernels/cuda/attention/attention_by_library.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// Returns the shape of one attention call of a rank, with the rank's heads. If ranks divide
/// sequences, a call takes the queries and keys of one chunk.
kernels::AttentionShape attention_shape(const Plan& plan);
kernels::cuda::AttentionUse attention_use(const Plan& plan, std::int64_t layer);
/// Returns the most bytes of a GPU's scratch memory that attention takes in any layer.
std::size_t attention_scratch_bytes(const Plan& plan);

/// Returns how a library's backward pass sums: "ordered", or "kept weights" (see
/// kernels::cuda::choose_backward_algorithm). Returns an empty text if dt's own kernels compute attention,
/// and on CPUs.
std::string attention_reduction_order(const Plan& plan);

/// Returns why dt's own kernels, which are slow, compute all of a plan's attention, whichever
/// libraries are installed. Returns an empty text if they need not, and on CPUs.
std::string describe_slow_attention(const Plan& plan);

}  // namespace dt::plan
