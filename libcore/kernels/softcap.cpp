#include "kernels/softcap.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {

void scale_and_softcap(const Context& context, double scale, double cap, const Tensor& x_RV) {
  check_matrix("scale_and_softcap", "x_RV", x_RV);
  DT_CHECK(cap >= 0, "scale_and_softcap: cap {}", cap);
  static constexpr Implementations<decltype(scale_and_softcap)> implementations{
      reference::scale_and_softcap<double>, reference::scale_and_softcap<float>, cpu::scale_and_softcap,
      &GpuKernels::scale_and_softcap};
  select_kernel(implementations, context, "scale_and_softcap", x_RV.dtype())(context, scale, cap, x_RV);
}

}  // namespace dt::kernels
