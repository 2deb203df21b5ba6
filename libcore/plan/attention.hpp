#pragma once
// Attention on GPUs as a plan asks for it: what estimates count, conditions record and the start announces.

#include <string>

#include "kernels/attention.hpp"
#include "kernels/cuda/attention_slices.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

/// One call of a rank: of its heads; where ranks divide sequences, of one chunk's queries and keys.
kernels::AttentionShape attention_shape(const Plan& plan);
kernels::cuda::AttentionUse attention_use(const Plan& plan);

/// How a library's backward pass sums: "ordered", or "kept weights" (see kernels::cuda::backward_way). Empty
/// where dt's own kernels compute attention, and on CPUs.
std::string attention_sums(const Plan& plan);

/// Why dt's own kernels, which are slow, compute all of a plan's attention, whichever libraries there are.
/// Empty where they need not, and on CPUs.
std::string describe_slow_attention(const Plan& plan);

}  // namespace dt::plan
