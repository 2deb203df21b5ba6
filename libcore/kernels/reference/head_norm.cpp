// Legend: see kernels/head_norm.hpp.
#include <cmath>
#include <vector>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {
namespace {

/// Calls body(row, group, the group's columns, its part of x_RN) for each group of each row. x_RN may be
/// absent.
template <class T, class Body>
void for_groups(const HeadNorm& norm, const Columns& columns, const Tensor& x_RN, const Body& body) {
  const std::int64_t R = columns.rows_RS.dim(0), S = columns.rows_RS.dim(1), N = norm.groups * norm.width;
  for (std::int64_t r = 0; r < R; ++r) {
    for (std::int64_t g = 0; g < norm.groups; ++g)
      body(r, g, columns.rows_RS.data<T>() + r * S + columns.first + g * norm.width,
           x_RN ? x_RN.data<T>() + r * N + g * norm.width : nullptr);
  }
}

template <class T>
double weight_at(const HeadNorm& norm, const Tensor& weight_W, std::int64_t i) {
  return weight_W.data<T>()[i] + (norm.plus_one ? 1.0 : 0.0);
}

template <class T>
double sum_squares(const HeadNorm& norm, const T* x) {
  double sum = 0;
  for (std::int64_t i = 0; i < norm.width; ++i) sum += double{x[i]} * double{x[i]};
  return sum;
}

template <class T>
double sum_products(const HeadNorm& norm, const Tensor& weight_W, const T* dy, const T* x) {
  double sum = 0;
  for (std::int64_t i = 0; i < norm.width; ++i)
    sum += double{dy[i]} * weight_at<T>(norm, weight_W, i) * double{x[i]};
  return sum;
}

}  // namespace

template <class T>
void head_norm_squares(const Context&, const HeadNorm& norm, const Columns& x, const Tensor& squares_RG) {
  for_groups<T>(norm, x, {}, [&](std::int64_t r, std::int64_t g, const T* of_group, const T*) {
    squares_RG.data<T>()[r * norm.groups + g] = static_cast<T>(sum_squares(norm, of_group));
  });
}

template <class T>
void head_norm(const Context&, const HeadNorm& norm, const Tensor& weight_W, const Tensor& squares_RG,
               const Columns& x, const Tensor& x_RN, const Tensor& rstd_RG) {
  for_groups<T>(norm, x, x_RN, [&](std::int64_t r, std::int64_t g, T* of_group, T* saved) {
    const std::int64_t at = r * norm.groups + g;
    const double squares = squares_RG ? squares_RG.data<T>()[at] : sum_squares(norm, of_group);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(norm.mean_width) + norm.eps);
    for (std::int64_t i = 0; i < norm.width; ++i) {
      saved[i] = of_group[i];
      of_group[i] = static_cast<T>(saved[i] * rstd * weight_at<T>(norm, weight_W, i));
    }
    rstd_RG.data<T>()[at] = static_cast<T>(rstd);
  });
}

template <class T>
void head_norm_products(const Context&, const HeadNorm& norm, const Tensor& weight_W, const Columns& dy,
                        const Tensor& x_RN, const Tensor& products_RG) {
  for_groups<T>(norm, dy, x_RN, [&](std::int64_t r, std::int64_t g, const T* of_group, const T* x) {
    const double products = sum_products(norm, weight_W, of_group, x);
    products_RG.data<T>()[r * norm.groups + g] = static_cast<T>(products);
  });
}

template <class T>
void head_norm_backward(const Context&, const HeadNorm& norm, const Tensor& weight_W,
                        const Tensor& products_RG, const Columns& dy, const Tensor& x_RN,
                        const Tensor& rstd_RG, const Tensor& dweight_W) {
  std::vector<double> dweight(static_cast<std::size_t>(norm.width));
  for_groups<T>(norm, dy, x_RN, [&](std::int64_t r, std::int64_t g, T* of_group, const T* x) {
    const std::int64_t at = r * norm.groups + g;
    const double rstd = rstd_RG.data<T>()[at];
    const double products =
        products_RG ? products_RG.data<T>()[at] : sum_products(norm, weight_W, of_group, x);
    const double mean = products / static_cast<double>(norm.mean_width);
    for (std::int64_t i = 0; i < norm.width; ++i) {
      const double gradient = of_group[i];
      dweight[static_cast<std::size_t>(i)] += gradient * x[i] * rstd;
      of_group[i] =
          static_cast<T>(rstd * (gradient * weight_at<T>(norm, weight_W, i) - x[i] * rstd * rstd * mean));
    }
  });
  for (std::int64_t i = 0; i < norm.width; ++i)
    dweight_W.data<T>()[i] += static_cast<T>(dweight[static_cast<std::size_t>(i)]);
}

template decltype(kernels::head_norm_squares) head_norm_squares<float>;
template decltype(kernels::head_norm_squares) head_norm_squares<double>;
template decltype(kernels::head_norm) head_norm<float>;
template decltype(kernels::head_norm) head_norm<double>;
template decltype(kernels::head_norm_products) head_norm_products<float>;
template decltype(kernels::head_norm_products) head_norm_products<double>;
template decltype(kernels::head_norm_backward) head_norm_backward<float>;
template decltype(kernels::head_norm_backward) head_norm_backward<double>;

}  // namespace dt::kernels::reference
