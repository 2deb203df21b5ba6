#include "plan/memory/scratch_estimate.hpp"

#include <algorithm>

#include "kernels/cuda/launch/runs.hpp"
#include "kernels/cuda/matmul/matmul.hpp"
#include "plan/attention.hpp"

namespace dt::plan {

namespace {

/// Approximate memory in which a matrix product and attention pack their operands, and what each
/// thread packs beside it.
constexpr std::size_t packing_bytes = std::size_t{28} << 20, packing_bytes_of_thread = std::size_t{2} << 20;

/// Returns the most bytes that one kernel of a GPU takes in addition to its unit's scratch. The
/// kernels are: attention; a product's workspace, and the product itself if gradients are rounded;
/// sums of columns (a norm's take most); what the embedding sorts.
std::size_t kernel_bytes(const Plan& plan) {
  const model::ModelSpec& spec = plan.spec;
  const std::int64_t rows = plan.micro_batch * plan.local_length();
  const std::size_t value = std::max(dtype_bytes(plan.precision.compute), sizeof(float));
  const bool rounds = plan.precision.gradient == DType::bf16 && plan.precision.compute != DType::bf16;
  const auto largest =
      static_cast<std::size_t>(spec.hidden * std::max(spec.mlp_hidden, spec.vocabulary) / plan.layout.tp);
  const std::size_t product =
      kernels::cuda::most_workspace_bytes + (rounds ? largest * sizeof(float) : std::size_t{0});
  const std::size_t sorted = 2 * static_cast<std::size_t>(rows) * sizeof(std::uint64_t);
  return std::max({kernels::cuda::attention_scratch_bytes(attention_shape(plan), attention_use(plan)),
                   product, kernels::cuda::sums_of_runs_bytes(rows, 2 * spec.hidden, value), sorted});
}

}  // namespace

std::size_t scratch_bytes(const Plan& plan, const std::vector<std::unique_ptr<model::Unit>>& units,
                          const std::vector<int>& own_units) {
  std::size_t scratch = 0;
  for (const int unit : own_units)
    scratch = std::max(scratch, units[static_cast<std::size_t>(unit)]->scratch_bytes(
                                    plan.device, plan.micro_batch, plan.local_length()));
  if (plan.device != Device::host()) return scratch;
  return scratch + packing_bytes + packing_bytes_of_thread * static_cast<std::size_t>(plan.threads);
}

std::size_t workspace_bytes(const Plan& plan) {
  return plan.device == Device::host() ? 0 : kernel_bytes(plan);
}

}  // namespace dt::plan
