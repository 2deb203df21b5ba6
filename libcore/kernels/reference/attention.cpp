// Legend: see kernels/attention.hpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/kernels.hpp"

namespace dt::kernels::reference {
namespace {

/// A head of one sequence. row(i) has D elements.
template <class T>
class Head {
 public:
  Head(const Columns& columns, std::int64_t first_row, std::int64_t head, std::int64_t D)
      : stride_(columns.rows_RS.dim(1)),
        first_(columns.rows_RS.data<T>() + first_row * stride_ + columns.first + head * D) {}
  T* row(std::int64_t i) const { return first_ + i * stride_; }

 private:
  std::int64_t stride_;
  T* first_;
};

/// The corresponding heads of queries, keys and values, or of their gradients.
template <class T>
struct Heads {
  Heads(const AttentionShape& s, const QueriesKeysValues& qkv, std::int64_t b, std::int64_t h)
      : q(qkv.q, b * s.sequence, h, s.head_dim),
        k(qkv.k, b * num_keys(s, qkv), h * s.key_value_heads / s.query_heads, s.head_dim),
        v(qkv.v, b * num_keys(s, qkv), h * s.key_value_heads / s.query_heads, s.head_dim) {}
  static std::int64_t num_keys(const AttentionShape& s, const QueriesKeysValues& qkv) {
    return qkv.k.rows_RS.dim(0) / s.batch;
  }
  Head<T> q, k, v;
};

/// The keys [begin, end) of a call that a query sees.
struct Seen {
  std::int64_t begin, end;
};
Seen seen_keys(const AttentionShape& s, const Visibility& visibility, std::int64_t keys, std::int64_t b,
               std::int64_t t) {
  const Tensor& first_R = visibility.first_R;
  const std::int64_t first = first_R ? first_R.data<std::int32_t>()[b * s.sequence + t] : 0;
  return {std::max<std::int64_t>(first - visibility.key_position, 0),
          std::min(visibility.query_position + t - visibility.key_position + 1, keys)};
}

template <class T>
double dot(const T* a, const T* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

/// The scores of products q·k.
struct Scores {
  explicit Scores(const AttentionShape& shape)
      : scale(score_scale<double>(shape)), cap(shape.scores.softcap) {}
  double of(double product) const {
    return cap == 0 ? scale * product : cap * std::tanh(scale * product / cap);
  }
  /// Returns the derivative of a score by its product.
  double slope(double score) const { return cap == 0 ? scale : scale * (1 - score / cap * (score / cap)); }
  double scale, cap;
};

/// Returns the largest scaled product of a query and the keys that it sees, or −∞ if it sees none.
template <class T>
double largest_scaled_product(const Heads<T>& heads, std::int64_t D, const Scores& scores, const Seen& seen,
                              std::int64_t t) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t s = seen.begin; s < seen.end; ++s)
    largest = std::max(largest, scores.scale * dot(heads.q.row(t), heads.k.row(s), D));
  return largest;
}

/// Computes one query's softmax over the keys that it sees, and the values' mean under it. Returns
/// the log of the sum of exponentials.
template <class T>
double attend(const Heads<T>& heads, std::int64_t D, const Scores& scores, const Seen& seen, std::int64_t t,
              std::vector<double>& score, T* y) {
  double highest = -std::numeric_limits<double>::infinity();
  for (std::int64_t s = seen.begin; s < seen.end; ++s) {
    score[s] = scores.of(dot(heads.q.row(t), heads.k.row(s), D));
    highest = std::max(highest, score[s]);
  }
  double sum = 0;
  for (std::int64_t s = seen.begin; s < seen.end; ++s) sum += std::exp(score[s] - highest);
  for (std::int64_t d = 0; d < D; ++d) {
    double mean = 0;
    for (std::int64_t s = seen.begin; s < seen.end; ++s) {
      mean += std::exp(score[s] - highest) / sum * heads.v.row(s)[d];
    }
    y[d] = static_cast<T>(mean);
  }
  return highest + std::log(sum);
}

/// Adds one query's part of the gradients to the block's.
template <class T>
void attend_backward(const Heads<T>& heads, std::int64_t D, const Scores& scores, const Seen& seen,
                     std::int64_t t, const T* dy, const T* y, double lse, const Heads<double>& gradients) {
  const double dy_y = dot(dy, y, D);
  const T* q = heads.q.row(t);
  for (std::int64_t s = seen.begin; s < seen.end; ++s) {
    const T* k = heads.k.row(s);
    const double score = scores.of(dot(q, k, D)), p = std::exp(score - lse);
    const double dproduct = p * (dot(dy, heads.v.row(s), D) - dy_y) * scores.slope(score);
    for (std::int64_t d = 0; d < D; ++d) {
      gradients.q.row(t)[d] += dproduct * k[d];
      gradients.k.row(s)[d] += dproduct * q[d];
      gradients.v.row(s)[d] += p * dy[d];
    }
  }
}

/// Accumulators for a call's gradients, initially zero.
struct Sums {
  explicit Sums(std::int64_t rows, std::int64_t width)
      : memory(Device::host(), static_cast<std::size_t>(rows * width) * sizeof(double)),
        rows_RS(memory, DType::f64, {rows, width}) {
    std::ranges::fill(rows_RS.span<double>(), 0.0);
  }
  Buffer memory;
  Tensor rows_RS;
};

/// Writes the sums to columns, or adds them to the columns' content.
template <class T>
void put(const Sums& sums, bool add, const Columns& to) {
  const std::int64_t rows = sums.rows_RS.dim(0), width = sums.rows_RS.dim(1);
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = Head<T>(to, r, 0, 0).row(0);
    for (std::int64_t i = 0; i < width; ++i) {
      row[i] = static_cast<T>((add ? double{row[i]} : 0.0) + sums.rows_RS.data<double>()[r * width + i]);
    }
  }
}

}  // namespace

template <class T>
void attention(const Context&, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
               const Tensor& max_scores_H) {
  const std::int64_t B = shape.batch, H = shape.query_heads, T_q = shape.sequence, D = shape.head_dim;
  const std::int64_t keys = Heads<T>::num_keys(shape, qkv);
  std::vector<double> score(static_cast<std::size_t>(keys));
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      const Heads<T> heads(shape, qkv, b, h);
      const Head<T> y({y_RQ}, b * T_q, h, D);
      for (std::int64_t t = 0; t < T_q; ++t) {
        const Seen seen = seen_keys(shape, visibility, keys, b, t);
        lse_BHT.data<T>()[(b * H + h) * T_q + t] =
            static_cast<T>(attend(heads, D, Scores(shape), seen, t, score, y.row(t)));
        if (!max_scores_H) continue;
        T& largest = max_scores_H.data<T>()[h];
        largest = std::max(largest, static_cast<T>(largest_scaled_product(heads, D, Scores(shape), seen, t)));
      }
    }
  }
}

template <class T>
void attention_backward(const Context&, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients) {
  const std::int64_t B = shape.batch, H = shape.query_heads, T_q = shape.sequence, D = shape.head_dim;
  const std::int64_t keys = Heads<T>::num_keys(shape, qkv), K = shape.key_value_heads;
  const Sums dq(B * T_q, H * D), dk(B * keys, K * D), dv(B * keys, K * D);
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      const Heads<T> heads(shape, qkv, b, h);
      const Heads<double> sums(shape, {{dq.rows_RS}, {dk.rows_RS}, {dv.rows_RS}}, b, h);
      const Head<T> dy({dy_RQ}, b * T_q, h, D), y({y_RQ}, b * T_q, h, D);
      for (std::int64_t t = 0; t < T_q; ++t) {
        attend_backward(heads, D, Scores(shape), seen_keys(shape, visibility, keys, b, t), t, dy.row(t),
                        y.row(t), lse_BHT.data<T>()[(b * H + h) * T_q + t], sums);
      }
    }
  }
  put<T>(dq, gradients.add_q, gradients.to.q);
  put<T>(dk, gradients.add_kv, gradients.to.k);
  put<T>(dv, gradients.add_kv, gradients.to.v);
}

template <class T>
void merge_attention(const Context&, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  const std::int64_t H = shape.query_heads, T_q = shape.sequence, D = shape.head_dim;
  for (std::int64_t i = 0; i < shape.batch * H * T_q; ++i) {
    const std::int64_t y = (i / (H * T_q) * T_q + i % T_q) * H * D + i / T_q % H * D;
    const double lse_a = a.lse_BHT.data<T>()[i], lse_b = b.lse_BHT.data<T>()[i];
    const double highest = std::max(lse_a, lse_b);
    const bool has_seen = highest != -std::numeric_limits<double>::infinity();
    const double weight_a = has_seen ? std::exp(lse_a - highest) : 0;
    const double weight_b = has_seen ? std::exp(lse_b - highest) : 0;
    const double sum = has_seen ? weight_a + weight_b : 1;
    for (std::int64_t d = y; d < y + D; ++d) {
      const double total = weight_a * a.y_RQ.data<T>()[d] + weight_b * b.y_RQ.data<T>()[d];
      to.y_RQ.data<T>()[d] = static_cast<T>(total / sum);
    }
    to.lse_BHT.data<T>()[i] = static_cast<T>(highest + std::log(sum));
  }
}

void first_visible(const Context&, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R) {
  for (std::int64_t r = 0; r < first_R.dim(0); ++r) {
    const std::int64_t start = starts_R ? starts_R.data<std::int32_t>()[r] : 0;
    const std::int64_t first = std::max(start, position + r % sequence - window + 1);
    first_R.data<std::int32_t>()[r] = static_cast<std::int32_t>(first);
  }
}

void document_starts(const Context&, const Tensor& bounds_N1, const Tensor& first_R) {
  const std::int32_t* bounds = bounds_N1.data<std::int32_t>();
  for (std::int64_t n = 0; n + 1 < bounds_N1.dim(0); ++n) {
    std::fill(first_R.data<std::int32_t>() + bounds[n], first_R.data<std::int32_t>() + bounds[n + 1],
              bounds[n]);
  }
}

template decltype(kernels::attention) attention<float>;
template decltype(kernels::attention) attention<double>;
template decltype(kernels::attention_backward) attention_backward<float>;
template decltype(kernels::attention_backward) attention_backward<double>;
template decltype(kernels::merge_attention) merge_attention<float>;
template decltype(kernels::merge_attention) merge_attention<double>;

}  // namespace dt::kernels::reference
