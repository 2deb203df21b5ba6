#include "kernels/adamw.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/adamw.hpp"

namespace dt::kernels {

void adamw(const Context& context, const AdamWStep& step, const Tensor& w, const Tensor& grad,
           const Tensor& m, const Tensor& v) {
  const std::int64_t numel = w.numel();
  for (const Tensor* t : {&grad, &m, &v}) {
    DT_CHECK(t->dtype() == w.dtype() && t->numel() == numel, "adamw: w is {} {}, but grad, m or v is {} {}",
             dtype_name(w.dtype()), w.shape().to_string(), dtype_name(t->dtype()), t->shape().to_string());
  }
  DT_CHECK(step.step >= 1, "adamw: steps are counted from 1, not {}", step.step);
  static constexpr Implementations<decltype(adamw)> implementations{reference::adamw<double>,
                                                                    reference::adamw<float>, cpu::adamw};
  pick(implementations, context, "adamw", w.dtype())(context, step, w, grad, m, v);
}

}  // namespace dt::kernels
