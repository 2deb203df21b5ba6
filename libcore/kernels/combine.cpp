#include "kernels/combine.hpp"

#include "kernels/check.hpp"
#include "kernels/dispatch.hpp"

namespace dt::kernels {

void combine_ranks(const Context& context, Reduction reduction, const RankInputs& inputs,
                   const Tensor& out_N) {
  const std::int64_t N = out_N.numel();
  const DType in = inputs.own_N.dtype(), out = out_N.dtype();
  check_tensor("combine_ranks", "own_N", inputs.own_N, in, {N});
  check_rank("combine_ranks", "others_RS", inputs.others_RS, 2);
  const std::int64_t others = inputs.others_RS.dim(0);
  DT_CHECK(inputs.others_RS.dtype() == in && inputs.others_RS.dim(1) >= N, "combine_ranks: {} {} for {} {}",
           dtype_name(inputs.others_RS.dtype()), inputs.others_RS.shape().to_string(), N, dtype_name(in));
  DT_CHECK(
      in == out || (in == DType::f32 && is_narrow_float(out)) || (is_narrow_float(in) && out == DType::f32),
      "combine_ranks: {} into {}", dtype_name(in), dtype_name(out));
  DT_CHECK(inputs.own_rank >= 0 && inputs.own_rank <= others, "combine_ranks: rank {} of {}", inputs.own_rank,
           others + 1);
  gpu_kernels(context).combine_ranks(context, reduction, inputs, out_N);
}

}  // namespace dt::kernels
