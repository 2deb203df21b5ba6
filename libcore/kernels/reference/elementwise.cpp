#include "kernels/reference/elementwise.hpp"

#include <algorithm>

namespace dt::kernels::reference {

template <class T>
void add(const Context&, const Tensor& a, const Tensor& b, const Tensor& y) {
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<T>()[i] = a.data<T>()[i] + b.data<T>()[i];
}

template <class T>
void sum_squares_by_block(const Context&, const Tensor& x, std::span<double> partials) {
  std::fill(partials.begin(), partials.end(), 0.0);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double value = x.data<T>()[i];
    partials[static_cast<std::size_t>(i / sum_block_elements)] += value * value;
  }
}

template decltype(kernels::add) add<float>;
template decltype(kernels::add) add<double>;
template decltype(kernels::sum_squares_by_block) sum_squares_by_block<float>;
template decltype(kernels::sum_squares_by_block) sum_squares_by_block<double>;

}  // namespace dt::kernels::reference
