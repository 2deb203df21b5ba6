#include <algorithm>
#include <type_traits>

#include "base/numeric/visit_dtype.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {
namespace {

template <class S, class T>
void convert_elements(const Tensor& source, const Tensor& target) {
  constexpr bool keeps_all = std::is_same_v<S, double> && std::is_same_v<T, double>;
  using Middle = std::conditional_t<keeps_all, double, float>;
  for (std::int64_t i = 0; i < source.numel(); ++i) {
    target.data<T>()[i] = static_cast<T>(static_cast<Middle>(source.data<S>()[i]));
  }
}

}  // namespace

template <class T>
void add(const Context&, const Tensor& a, const Tensor& b, const Tensor& y) {
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<T>()[i] = a.data<T>()[i] + b.data<T>()[i];
}

template <class T>
void add_bias_residual(const Context&, const Tensor& x_RN, const Tensor& bias_N, const Tensor& residual_RN,
                       const Tensor& y_RN) {
  const std::int64_t N = x_RN.dim(1);
  for (std::int64_t i = 0; i < x_RN.numel(); ++i) {
    T sum = x_RN.data<T>()[i];
    if (bias_N) sum += bias_N.data<T>()[i % N];
    if (residual_RN) sum += residual_RN.data<T>()[i];
    y_RN.data<T>()[i] = sum;
  }
}

template <class T>
void scale_add(const Context&, double scale, const Tensor& x, const Tensor& residual, const Tensor& y) {
  const double factor = static_cast<T>(scale);
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const double scaled = factor * double{x.data<T>()[i]};
    y.data<T>()[i] = static_cast<T>(residual ? scaled + residual.data<T>()[i] : scaled);
  }
}

template <class T>
void accumulate(const Context&, const Tensor& source, const Tensor& target) {
  for (std::int64_t i = 0; i < target.numel(); ++i) target.data<T>()[i] += source.data<T>()[i];
}

void cast(const Context&, const Tensor& source, const Tensor& target) {
  visit_dtype(FloatTypes(), source.dtype(), "reference cast", [&](auto from) {
    visit_dtype(FloatTypes(), target.dtype(), "reference cast",
                [&](auto to) { convert_elements<decltype(from), decltype(to)>(source, target); });
  });
}

void cast_columns(const Context& context, const ColumnBlock& source, const ColumnBlock& target,
                  std::int64_t width) {
  const auto row = [&](const ColumnBlock& block, std::int64_t r) {
    return block.rows_RS.flat(r * block.rows_RS.dim(1) + block.first, width);
  };
  for (std::int64_t r = 0; r < source.rows_RS.dim(0); ++r) cast(context, row(source, r), row(target, r));
}

void fill(const Context&, double value, const Tensor& target) {
  visit_dtype(FloatTypes(), target.dtype(), "reference fill", [&](auto element) {
    using T = decltype(element);
    std::fill_n(target.data<T>(), target.numel(), static_cast<T>(static_cast<ComputeType<T>>(value)));
  });
}

template <class T>
void sum_squares_by_block(const Context&, const Tensor& x, const Tensor& partials_N) {
  const std::span<double> partials = partials_N.span<double>();
  std::fill(partials.begin(), partials.end(), 0.0);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double value = x.data<T>()[i];
    partials[static_cast<std::size_t>(i / sum_block_elements)] += value * value;
  }
}

template decltype(kernels::add) add<float>;
template decltype(kernels::add) add<double>;
template decltype(kernels::add_bias_residual) add_bias_residual<float>;
template decltype(kernels::add_bias_residual) add_bias_residual<double>;
template decltype(kernels::scale_add) scale_add<float>;
template decltype(kernels::accumulate) accumulate<float>;
template decltype(kernels::scale_add) scale_add<double>;
template decltype(kernels::accumulate) accumulate<double>;
template decltype(kernels::sum_squares_by_block) sum_squares_by_block<float>;
template decltype(kernels::sum_squares_by_block) sum_squares_by_block<double>;

}  // namespace dt::kernels::reference
