#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/vec.cuh"
#include "kernels/softcap.hpp"

namespace dt::kernels::cuda {

namespace {

/// Multiplies by `factor` if `cap` is 0; otherwise computes cap · tanh(factor · x).
template <class T>
__global__ void softcap_rows(T* x, std::int64_t R, std::int64_t V, std::int64_t pitch, double factor,
                             double cap) {
  constexpr int N = vec_size<T>;
  const auto by = static_cast<Value<T>>(factor), limit = static_cast<Value<T>>(cap);
  for_vecs<N>(R, V, [&](std::int64_t r, std::int64_t v, std::int64_t left) {
    T* const at = x + r * pitch + v;
    auto values = load_vec<N>(at, left);
    for (auto& value : values.at) value = limit == 0 ? by * value : limit * std::tanh(by * value);
    store_vec<N>(at, left, values);
  });
}

}  // namespace

void scale_and_softcap(const Context& context, double scale, double cap, const Tensor& x_RV) {
  const std::int64_t R = x_RV.dim(0), V = x_RV.dim(1);
  with_elements(x_RV.dtype(), [&](auto element) {
    using T = decltype(element);
    launch(context, "scale_and_softcap", grid_for_vecs(vec_size<T>, R, V), softcap_rows<T>, x_RV.data<T>(), R,
           V, x_RV.pitch(), cap == 0 ? scale : scale / cap, cap);
  });
}

}  // namespace dt::kernels::cuda
