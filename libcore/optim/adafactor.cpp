#include "optim/adafactor.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace dt::optim {

namespace {

/// Calls body with a pointer to the elements of the moments.
template <class Body>
void with_moments(const Tensor& moments, const Body& body) {
  DT_CHECK(moments.dtype() == DType::f64 || moments.dtype() == DType::f32, "moments in {}",
           dtype_name(moments.dtype()));
  moments.dtype() == DType::f64 ? body(moments.data<double>()) : body(moments.data<float>());
}

}  // namespace

bool factors_moments(const OptimizerSettings& settings) {
  return settings.kind == OptimizerKind::adafactor;
}

int num_norms(const OptimizerSettings& settings) {
  return (settings.clip_threshold > 0 ? 1 : 0) + (settings.scale_parameter ? 1 : 0);
}

double second_moment_decay(const kernels::OptimizerStep& step) {
  return 1 - std::pow(static_cast<double>(step.step), -step.settings.beta2_decay);
}

void update_line_moments(std::span<const double> means, double decay, const Tensor& moments) {
  with_moments(moments, [&]<class T>(T* m) {
    for (std::size_t i = 0; i < means.size(); ++i)
      m[i] = static_cast<T>(decay * double{m[i]} + (1 - decay) * (means[i] + moment_eps));
  });
}

void set_line_factors(const Tensor& row_moments_R, const Tensor& column_moments_C, std::span<double> rows_R,
                      std::span<double> columns_C) {
  with_moments(row_moments_R, [&](const auto* r) {
    double sum = 0;
    for (std::size_t i = 0; i < rows_R.size(); ++i) sum += double{r[i]};
    const double mean = sum / static_cast<double>(rows_R.size());
    for (std::size_t i = 0; i < rows_R.size(); ++i) rows_R[i] = std::sqrt(mean / double{r[i]});
  });
  with_moments(column_moments_C, [&](const auto* c) {
    for (std::size_t i = 0; i < columns_C.size(); ++i) columns_C[i] = 1 / std::sqrt(double{c[i]});
  });
}

double update_rate(const kernels::OptimizerStep& step, double weight_rms, double direction_rms) {
  double rate = step.lr;
  if (step.settings.relative_step) rate = std::min(rate, 1 / std::sqrt(static_cast<double>(step.step)));
  if (step.settings.scale_parameter) rate *= std::max(scale_eps, weight_rms);
  if (step.settings.clip_threshold > 0) rate /= std::max(1.0, direction_rms / step.settings.clip_threshold);
  return rate;
}

}  // namespace dt::optim
