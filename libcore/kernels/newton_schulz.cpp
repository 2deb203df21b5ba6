#include "kernels/newton_schulz.hpp"

#include <algorithm>

#include "base/numeric/integer.hpp"
#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void newton_schulz(const Context& context, const Tensor& u_RC, const Tensor& x_RC) {
  check_rank("newton_schulz", "u_RC", u_RC, 2);
  check_tensor("newton_schulz", "x_RC", x_RC, u_RC.dtype(), {u_RC.dim(0), u_RC.dim(1)});
  DT_CHECK(u_RC.dtype() == DType::f64 || u_RC.dtype() == DType::f32,
           "newton_schulz: there is no kernel for {}", dtype_name(u_RC.dtype()));
  static constexpr Implementations<decltype(newton_schulz)> implementations{
      reference::newton_schulz<double>, reference::newton_schulz<float>, cpu::newton_schulz,
      &GpuKernels::newton_schulz};
  select_kernel(implementations, context, "newton_schulz", u_RC.dtype())(context, u_RC, x_RC);
}

std::size_t newton_schulz_scratch_bytes(DType dtype, std::int64_t R, std::int64_t C) {
  constexpr std::size_t line = 256;  // on GPUs; shorter on hosts
  const std::int64_t S = std::min(R, C);
  return 2 * round_up(storage_bytes(dtype, S * S), line);
}

double newton_schulz_flops(std::int64_t R, std::int64_t C) {
  const auto least = static_cast<double>(std::min(R, C)), most = static_cast<double>(std::max(R, C));
  return 5 * 2 * least * least * (2 * most + least);
}

}  // namespace dt::kernels
