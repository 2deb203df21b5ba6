#include "plan/attention.hpp"

#include <algorithm>

#include "model/layers/attention_layer.hpp"
#include "plan/precision.hpp"

namespace dt::plan {

namespace {

bool has_library_kernels(const Plan& plan) {
  return dtype_bytes(plan.precision.compute) == 2 && plan.spec.head_dim % 8 == 0;
}

}  // namespace

kernels::AttentionShape attention_shape(const Plan& plan) {
  const std::int64_t tp = plan.layout.tp, chunks = plan.layout.cp > 1 ? 2 : 1;
  return {plan.micro_batch,           plan.local_length() / chunks,
          plan.spec.query_heads / tp, std::max<std::int64_t>(1, plan.spec.key_value_heads / tp),
          plan.spec.head_dim,         model::score_transform(plan.spec)};
}

kernels::cuda::AttentionUse attention_use(const Plan& plan, std::int64_t layer) {
  const std::optional<std::int64_t>& window = plan.spec.attention[layer].window;
  const bool has_window = window && *window < plan.sequence_length;
  return {.dtype = plan.precision.compute,
          .in_place = plan.layout.cp == 1,
          .is_masked = plan.mask_documents || has_window,
          .can_order = plan.launch.orders_attention_sums};
}

std::size_t attention_scratch_bytes(const Plan& plan) {
  std::size_t most = 0;
  for (std::int64_t layer = 0; layer < plan.spec.layers; ++layer)
    most = std::max(
        most, kernels::cuda::attention_scratch_bytes(attention_shape(plan), attention_use(plan, layer)));
  return most;
}

std::string attention_reduction_order(const Plan& plan) {
  if (plan.device == Device::host() || !has_library_kernels(plan)) return "";
  const kernels::AttentionShape shape = attention_shape(plan);
  const kernels::cuda::AttentionUse use = attention_use(plan, 0);  // windows do not change the order
  return kernels::cuda::choose_backward_algorithm(shape, shape.sequence, use.is_masked, use.can_order)
                 .is_ordered
             ? "ordered"
             : "kept weights";
}

std::string describe_slow_attention(const Plan& plan) {
  if (plan.device == Device::host() || has_library_kernels(plan)) return "";
  const std::string why =
      dtype_bytes(plan.precision.compute) != 2
          ? fmt::format("cuDNN supports bf16 and fp16 only, not {}", precision_name(plan.precision.compute))
          : fmt::format("cuDNN supports head sizes that are multiples of 8 only, not {}", plan.spec.head_dim);
  return fmt::format("attention uses dt's own kernels, which are many times slower than cuDNN's: {}", why);
}

}  // namespace dt::plan
