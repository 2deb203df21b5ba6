#include "kernels/softcap.hpp"

#include <cmath>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {

template <class T>
void scale_and_softcap(const Context&, double scale, double cap, const Tensor& x_RV) {
  for (T& x : x_RV.span<T>()) x = static_cast<T>(cap == 0 ? scale * x : cap * std::tanh(scale * x / cap));
}

template decltype(kernels::scale_and_softcap) scale_and_softcap<float>;
template decltype(kernels::scale_and_softcap) scale_and_softcap<double>;

}  // namespace dt::kernels::reference
