// Legend: as kernels/attention.hpp; G = H/K query heads share a key-value head.
#include "kernels/reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace dt::kernels::reference {
namespace {

/// Where a batch entry's heads lie in the packed rows, as offsets from its first row.
struct Packing {
  explicit Packing(const AttentionShape& shape)
      : heads(shape.query_heads),
        group(shape.query_heads / shape.key_value_heads),
        head_dim(shape.head_dim),
        row((shape.query_heads + 2 * shape.key_value_heads) * shape.head_dim),
        keys(shape.query_heads * shape.head_dim),
        values((shape.query_heads + shape.key_value_heads) * shape.head_dim) {}

  std::int64_t query(std::int64_t t, std::int64_t h) const { return t * row + h * head_dim; }
  std::int64_t key(std::int64_t t, std::int64_t h) const { return t * row + keys + h / group * head_dim; }
  std::int64_t value(std::int64_t t, std::int64_t h) const { return t * row + values + h / group * head_dim; }
  std::int64_t output(std::int64_t t, std::int64_t h) const { return (t * heads + h) * head_dim; }

  std::int64_t heads, group, head_dim, row, keys, values;
};

template <class T>
double dot(const T* a, const T* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

/// The first key that row r sees.
std::int64_t first_key(const Tensor& first_R, std::int64_t r) {
  return first_R ? first_R.data<std::int32_t>()[r] : 0;
}

/// One query's softmax over the keys first..t, and the values' mean under it; returns the log of the sum of
/// exponentials.
template <class T>
double attend(const Packing& at, const T* qkv, std::int64_t first, std::int64_t t, std::int64_t h,
              std::vector<double>& score, T* y) {
  const double scale = 1 / std::sqrt(static_cast<double>(at.head_dim));
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t s = first; s <= t; ++s) {
    score[s] = scale * dot(qkv + at.query(t, h), qkv + at.key(s, h), at.head_dim);
    highest = std::max(highest, score[s]);
  }
  double sum = 0;
  for (std::int64_t s = first; s <= t; ++s) sum += std::exp(score[s] - highest);
  for (std::int64_t d = 0; d < at.head_dim; ++d) {
    double mean = 0;
    for (std::int64_t s = first; s <= t; ++s) {
      mean += std::exp(score[s] - highest) / sum * qkv[at.value(s, h) + d];
    }
    y[at.output(t, h) + d] = static_cast<T>(mean);
  }
  return highest + std::log(sum);
}

/// One query's part of the gradient, added to dqkv.
template <class T>
void attend_backward(const Packing& at, const T* dy, const T* qkv, const T* y, double lse, std::int64_t first,
                     std::int64_t t, std::int64_t h, double* dqkv) {
  const double scale = 1 / std::sqrt(static_cast<double>(at.head_dim));
  const T* q = qkv + at.query(t, h);
  const T* dy_row = dy + at.output(t, h);
  const double dy_y = dot(dy_row, y + at.output(t, h), at.head_dim);
  for (std::int64_t s = first; s <= t; ++s) {
    const T* k = qkv + at.key(s, h);
    const double p = std::exp(scale * dot(q, k, at.head_dim) - lse);
    const double dscore = p * (dot(dy_row, qkv + at.value(s, h), at.head_dim) - dy_y) * scale;
    for (std::int64_t d = 0; d < at.head_dim; ++d) {
      dqkv[at.query(t, h) + d] += dscore * k[d];
      dqkv[at.key(s, h) + d] += dscore * q[d];
      dqkv[at.value(s, h) + d] += p * dy_row[d];
    }
  }
}

double scaled(double frequency, const RotaryScaling& scaling) {
  if (scaling.type == RotaryScaling::Type::linear) return frequency / scaling.factor;
  const double low = scaling.low_frequency_factor, high = scaling.high_frequency_factor;
  const double turns = static_cast<double>(scaling.original_positions) * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace

template <class T>
void attention(const Context&, const AttentionShape& shape, const Tensor& first_R, const Tensor& qkv_RE,
               const Tensor& y_RQ, const Tensor& lse_BHT) {
  const Packing at(shape);
  const std::int64_t H = shape.query_heads, sequence = shape.sequence;
  std::vector<double> score(static_cast<std::size_t>(sequence));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    const T* qkv = qkv_RE.data<T>() + b * sequence * at.row;
    T* y = y_RQ.data<T>() + b * sequence * at.keys;
    T* lse = lse_BHT.data<T>() + b * H * sequence;
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t t = 0; t < sequence; ++t) {
        const std::int64_t first = first_key(first_R, b * sequence + t);
        lse[h * sequence + t] = static_cast<T>(attend(at, qkv, first, t, h, score, y));
      }
    }
  }
}

template <class T>
void attention_backward(const Context&, const AttentionShape& shape, const Tensor& first_R,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE) {
  const Packing at(shape);
  const std::int64_t H = shape.query_heads, sequence = shape.sequence;
  std::vector<double> dqkv(static_cast<std::size_t>(sequence * at.row));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    const T* qkv = qkv_RE.data<T>() + b * sequence * at.row;
    const T* y = y_RQ.data<T>() + b * sequence * at.keys;
    const T* dy = dy_RQ.data<T>() + b * sequence * at.keys;
    const T* lse = lse_BHT.data<T>() + b * H * sequence;
    std::fill(dqkv.begin(), dqkv.end(), 0.0);
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t t = 0; t < sequence; ++t) {
        const std::int64_t first = first_key(first_R, b * sequence + t);
        attend_backward(at, dy, qkv, y, lse[h * sequence + t], first, t, h, dqkv.data());
      }
    }
    T* target = dqkv_RE.data<T>() + b * sequence * at.row;
    for (std::size_t i = 0; i < dqkv.size(); ++i) target[i] = static_cast<T>(dqkv[i]);
  }
}

void first_visible(const Context&, std::int64_t sequence, std::int64_t window, const Tensor& starts_R,
                   const Tensor& first_R) {
  for (std::int64_t r = 0; r < first_R.dim(0); ++r) {
    const std::int64_t start = first_key(starts_R, r);
    first_R.data<std::int32_t>()[r] = static_cast<std::int32_t>(std::max(start, r % sequence - window + 1));
  }
}

template <class T>
void rotary_tables(const RotaryFrequencies& frequencies, const Tensor& cos_PD2, const Tensor& sin_PD2) {
  const std::int64_t P = cos_PD2.dim(0), half = cos_PD2.dim(1);
  std::vector<double> frequency;
  for (std::int64_t i = 0; i < half; ++i) {
    const double unscaled = std::pow(frequencies.theta, -static_cast<double>(i) / static_cast<double>(half));
    frequency.push_back(frequencies.scaling ? scaled(unscaled, *frequencies.scaling) : unscaled);
  }
  for (std::int64_t p = 0; p < P; ++p) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(p) * frequency[static_cast<std::size_t>(i)];
      cos_PD2.data<T>()[p * half + i] = static_cast<T>(std::cos(angle));
      sin_PD2.data<T>()[p * half + i] = static_cast<T>(std::sin(angle));
    }
  }
}

template <class T>
void rotary(const Context&, const AttentionShape& shape, const Tensor& positions_R, const Tensor& cos_PD2,
            const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  const std::int64_t R = qkv_RE.dim(0), E = qkv_RE.dim(1), half = shape.head_dim / 2;
  for (std::int64_t r = 0; r < R; ++r) {
    const std::int64_t p = positions_R.data<std::int32_t>()[r];
    const T* cosine = cos_PD2.data<T>() + p * half;
    const T* sine = sin_PD2.data<T>() + p * half;
    for (std::int64_t h = 0; h < shape.query_heads + shape.key_value_heads; ++h) {
      T* head = qkv_RE.data<T>() + r * E + h * shape.head_dim;
      for (std::int64_t i = 0; i < half; ++i) {
        const double a = head[i], b = head[i + half];
        const double c = cosine[i], s = inverse ? -double{sine[i]} : double{sine[i]};
        head[i] = static_cast<T>(a * c - b * s);
        head[i + half] = static_cast<T>(b * c + a * s);
      }
    }
  }
}

template decltype(kernels::attention) attention<float>;
template decltype(kernels::attention) attention<double>;
template decltype(kernels::attention_backward) attention_backward<float>;
template decltype(kernels::attention_backward) attention_backward<double>;
template decltype(kernels::rotary_tables) rotary_tables<float>;
template decltype(kernels::rotary_tables) rotary_tables<double>;
template decltype(kernels::rotary) rotary<float>;
template decltype(kernels::rotary) rotary<double>;

}  // namespace dt::kernels::reference
