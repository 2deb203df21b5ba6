// Legend: see kernels/rotary.hpp.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/numeric/integer.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {
namespace {

double llama3_scaled(double frequency, const RotaryScaling& scaling) {
  const double low = scaling.low_frequency_factor, high = scaling.high_frequency_factor;
  const double turns = static_cast<double>(scaling.original_positions) * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

/// The frequencies i of YaRN between `low` and `high`: a frequency up to low is kept, one from high on is
/// divided by the factor.
struct YarnRange {
  double low, high;
};
/// A frequency turns `turns` times within the original positions at
/// i = n · ln(original / (2π · turns)) / (2 ln theta).
YarnRange yarn_range(const RotaryFrequencies& frequencies, double features) {
  const RotaryScaling& scaling = *frequencies.scaling;
  const auto at = [&](double turns) {
    const double radians = 2 * std::numbers::pi * turns;
    return features * std::log(static_cast<double>(scaling.original_positions) / radians) /
           (2 * std::log(frequencies.theta));
  };
  double low = at(scaling.beta_fast), high = at(scaling.beta_slow);
  if (scaling.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, features - 1);
  return {low, low == high ? high + 0.001 : high};
}

double scaled(double frequency, std::int64_t i, const RotaryFrequencies& frequencies, double features,
              std::int64_t sequence) {
  const RotaryScaling& scaling = *frequencies.scaling;
  const auto at = static_cast<std::size_t>(i);
  switch (scaling.type) {
    case RotaryScaling::Type::linear:
      return frequency / scaling.factor;
    case RotaryScaling::Type::llama3:
      return llama3_scaled(frequency, scaling);
    case RotaryScaling::Type::yarn: {
      const auto [low, high] = yarn_range(frequencies, features);
      const double divided = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      return divided * frequency / scaling.factor + (1 - divided) * frequency;
    }
    case RotaryScaling::Type::longrope:
      return frequency /
             (sequence > scaling.original_positions ? scaling.long_factors : scaling.short_factors)[at];
  }
  return frequency;
}

}  // namespace

std::int64_t num_rotary_features(const RotaryFrequencies& frequencies, std::int64_t head_dim) {
  return static_cast<std::int64_t>(static_cast<double>(head_dim) * frequencies.partial_factor);
}

template <class T>
void rotary_tables(const RotaryFrequencies& frequencies, std::int64_t head_dim, std::int64_t sequence,
                   const Tensor& cos_PF, const Tensor& sin_PF) {
  const std::int64_t P = cos_PF.dim(0), F = cos_PF.dim(1);
  const auto features = static_cast<double>(num_rotary_features(frequencies, head_dim));
  const double factor = frequencies.scaling ? frequencies.scaling->attention_factor : 1;
  std::vector<double> frequency;
  for (std::int64_t i = 0; i < F; ++i) {
    const double unscaled = std::pow(frequencies.theta, -2 * static_cast<double>(i) / features);
    frequency.push_back(frequencies.scaling ? scaled(unscaled, i, frequencies, features, sequence)
                                            : unscaled);
  }
  for (std::int64_t p = 0; p < P; ++p) {
    for (std::int64_t i = 0; i < F; ++i) {
      const double angle = static_cast<double>(p) * frequency[static_cast<std::size_t>(i)];
      cos_PF.data<T>()[p * F + i] = static_cast<T>(factor * std::cos(angle));
      sin_PF.data<T>()[p * F + i] = static_cast<T>(factor * std::sin(angle));
    }
  }
}

template <class T>
void query_factors(const RotaryFrequencies& frequencies, const Tensor& factor_P) {
  for (std::int64_t p = 0; p < factor_P.dim(0); ++p) {
    const auto times = static_cast<double>(p / frequencies.scaling->original_positions);
    factor_P.data<T>()[p] = static_cast<T>(1 + frequencies.query_scale * std::log1p(times));
  }
}

template <class T>
void rotary(const Context&, const AttentionShape& shape, const Tensor& positions_R, const Rotation& rotation,
            bool inverse, const Tensor& qkv_RE) {
  const std::int64_t R = qkv_RE.dim(0), E = qkv_RE.dim(1), F = rotation.cos_PF.dim(1), D = shape.head_dim;
  const Tensor& factor_P = rotation.query_factor_P;
  for (std::int64_t r = 0; r < R; ++r) {
    const std::int64_t p = positions_R.data<std::int32_t>()[r];
    const T* cosine = rotation.cos_PF.data<T>() + p * F;
    const T* sine = rotation.sin_PF.data<T>() + p * F;
    for (std::int64_t h = 0; h < shape.query_heads + shape.key_value_heads; ++h) {
      T* head = qkv_RE.data<T>() + r * E + h * D;
      const double factor = factor_P && h < shape.query_heads ? factor_P.data<T>()[p] : T{1};
      for (std::int64_t i = 0; i < F; ++i) {
        T& first = head[rotation.is_interleaved ? 2 * i : i];
        T& second = head[rotation.is_interleaved ? 2 * i + 1 : i + F];
        const double a = first, b = second;
        const double c = cosine[i], s = inverse ? -double{sine[i]} : double{sine[i]};
        first = static_cast<T>((a * c - b * s) * factor);
        second = static_cast<T>((b * c + a * s) * factor);
      }
      for (std::int64_t d = 2 * F; d < D; ++d) head[d] = static_cast<T>(head[d] * factor);
    }
  }
}

template decltype(kernels::rotary_tables) rotary_tables<float>;
template decltype(kernels::rotary_tables) rotary_tables<double>;
template decltype(kernels::query_factors) query_factors<float>;
template decltype(kernels::query_factors) query_factors<double>;
template decltype(kernels::rotary) rotary<float>;
template decltype(kernels::rotary) rotary<double>;

}  // namespace dt::kernels::reference
