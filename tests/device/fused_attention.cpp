// cuDNN's attention, computed in fp64; each result is rounded once.

#include "kernels/cuda/attention/fused_attention.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <vector>

#include "device/test_device.hpp"
#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::test_device {

namespace {

using kernels::Columns;
using kernels::cuda::FusedAttention;
using kernels::cuda::FusedAttentionGradients;
using kernels::cuda::Mask;

/// The heads of rows, addressed by sequence, row, head and feature.
template <class T>
class Heads {
 public:
  Heads(const Columns& columns, const kernels::AttentionShape& shape)
      : elements_(columns.rows_RS.data<T>() + columns.first),
        stride_(columns.rows_RS.dim(1)),
        rows_(columns.rows_RS.dim(0) / shape.batch),
        D_(shape.head_dim) {}
  T* row(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return elements_ + (b * rows_ + t) * stride_ + head * D_;
  }

 private:
  T* elements_;
  std::int64_t stride_, rows_, D_;
};

template <class T>
double dot(const T* a, const T* b, std::int64_t D) {
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d)
    sum += static_cast<double>(static_cast<float>(a[d])) * static_cast<double>(static_cast<float>(b[d]));
  return sum;
}

/// A query's score of a key, −∞ if it does not see the key, and the score's derivative by the product.
struct Score {
  double value, slope;
};

/// Returns one query's scores.
template <class T>
std::vector<Score> scores(const FusedAttention& a, std::int64_t b, std::int64_t h, std::int64_t t) {
  const kernels::AttentionShape& s = a.shape;
  const Heads<T> q(a.qkv.q, s), k(a.qkv.k, s);
  const double scale = kernels::score_scale<double>(s), cap = s.scores.softcap;
  std::vector<Score> result;
  for (std::int64_t j = 0; j < a.keys(); ++j) {
    const double product =
        scale * dot(q.row(b, t, h), k.row(b, j, h * s.key_value_heads / s.query_heads), s.head_dim);
    const double tanh = cap == 0 ? 0 : std::tanh(product / cap), score = cap == 0 ? product : cap * tanh;
    const bool is_hidden = a.mask == Mask::causal && j > t;
    const double added = a.mask == Mask::added
                             ? static_cast<double>(static_cast<float>(
                                   a.added_BTT.data<T>()[(b * s.sequence + t) * a.keys() + j]))
                             : 0;
    result.push_back(
        {is_hidden ? -std::numeric_limits<double>::infinity() : score + added, scale * (1 - tanh * tanh)});
  }
  return result;
}

/// Calls body(sequence, head, query) for all queries.
template <class Body>
void for_queries(const kernels::AttentionShape& s, const Body& body) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.query_heads; ++h)
      for (std::int64_t t = 0; t < s.sequence; ++t) body(b, h, t);
}

float& lse_of(const FusedAttention& a, std::int64_t b, std::int64_t h, std::int64_t t) {
  return a.lse_BHT.data<float>()[(b * a.shape.query_heads + h) * a.shape.sequence + t];
}

template <class T>
void forward(const FusedAttention& a) {
  const kernels::AttentionShape& s = a.shape;
  const Heads<T> v(a.qkv.v, s), y(a.y, s);
  for_queries(s, [&](std::int64_t b, std::int64_t h, std::int64_t t) {
    const std::vector<Score> score = scores<T>(a, b, h, t);
    const double highest = std::ranges::max_element(score, {}, &Score::value)->value;
    double sum = 0;
    std::vector<double> mean(static_cast<std::size_t>(s.head_dim));
    for (std::size_t j = 0; j < score.size(); ++j) {
      const double weight = std::exp(score[j].value - highest);
      const T* value = v.row(b, static_cast<std::int64_t>(j), h * s.key_value_heads / s.query_heads);
      for (std::size_t d = 0; d < mean.size(); ++d) mean[d] += weight * static_cast<float>(value[d]);
      sum += weight;
    }
    for (std::size_t d = 0; d < mean.size(); ++d) y.row(b, t, h)[d] = T(static_cast<float>(mean[d] / sum));
    lse_of(a, b, h, t) = static_cast<float>(highest + std::log(sum));
  });
}

/// A gradient in fp64 until all queries have added to it.
template <class T>
class Sums {
 public:
  Sums(const Columns& columns, const kernels::AttentionShape& shape, std::int64_t heads)
      : heads_(columns, shape),
        batch_(shape.batch),
        rows_(columns.rows_RS.dim(0) / shape.batch),
        count_(heads),
        D_(shape.head_dim),
        sums_(static_cast<std::size_t>(batch_ * rows_ * count_ * D_)) {}
  void add(std::int64_t b, std::int64_t t, std::int64_t head, double weight, const T* row) {
    double* const sums = at(b, t, head);
    for (std::int64_t d = 0; d < D_; ++d) sums[d] += weight * static_cast<float>(row[d]);
  }
  void write() {
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t t = 0; t < rows_; ++t)
        for (std::int64_t head = 0; head < count_; ++head)
          for (std::int64_t d = 0; d < D_; ++d)
            heads_.row(b, t, head)[d] = T(static_cast<float>(at(b, t, head)[d]));
  }

 private:
  double* at(std::int64_t b, std::int64_t t, std::int64_t head) {
    return sums_.data() + ((b * rows_ + t) * count_ + head) * D_;
  }
  Heads<T> heads_;
  std::int64_t batch_, rows_, count_, D_;
  std::vector<double> sums_;
};

template <class T>
void backward(const FusedAttention& a, const FusedAttentionGradients& g) {
  const kernels::AttentionShape& s = a.shape;
  const Heads<T> q(a.qkv.q, s), k(a.qkv.k, s), v(a.qkv.v, s), y(a.y, s), dy(g.dy, s);
  Sums<T> dq(g.to.q, s, s.query_heads), dk(g.to.k, s, s.key_value_heads), dv(g.to.v, s, s.key_value_heads);
  for_queries(s, [&](std::int64_t b, std::int64_t h, std::int64_t t) {
    const std::int64_t group = h * s.key_value_heads / s.query_heads;
    const std::vector<Score> score = scores<T>(a, b, h, t);
    const double common = dot(dy.row(b, t, h), y.row(b, t, h), s.head_dim);
    for (std::int64_t j = 0; j < a.keys(); ++j) {
      const auto [value, slope] = score[static_cast<std::size_t>(j)];
      const double weight = std::exp(value - lse_of(a, b, h, t));
      const double dproduct =
          weight * (dot(dy.row(b, t, h), v.row(b, j, group), s.head_dim) - common) * slope;
      dq.add(b, t, h, dproduct, k.row(b, j, group));
      dk.add(b, j, group, dproduct, q.row(b, t, h));
      dv.add(b, j, group, weight, dy.row(b, t, h));
    }
  });
  dq.write();
  dk.write();
  dv.write();
}

/// Returns whether all GPUs of cuDNN's compute the shape; some do not compute odd widths and wider heads.
bool has_kernel(const FusedAttention& attention) {
  return attention.shape.head_dim % 8 == 0 && attention.shape.head_dim <= 128;
}

/// Runs work(T()) on the context's stream.
template <class Work>
bool play(const Context& context, const FusedAttention& attention, const char* name, const WorkKey& key,
          const Work& work) {
  if (!has_kernel(attention)) {
    kernels::cuda::record_attention_fallback(
        fmt::format("the test device has no kernel for heads of {}", attention.shape.head_dim));
    return false;
  }
  const DType dtype = attention.y.rows_RS.dtype();
  const kernels::AttentionShape& s = attention.shape;
  const std::string problem = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}", name, dtype_name(dtype), static_cast<int>(attention.mask), s.batch,
      s.sequence, s.query_heads, s.key_value_heads, s.head_dim, s.scores.scale, s.scores.softcap);
  submit(context, key,
         {name, {}, 1, 0, [=] { dtype == DType::bf16 ? work(BFloat16()) : work(Float16()); }, problem});
  return true;
}

}  // namespace

}  // namespace dt::test_device

namespace dt::kernels::cuda {

bool attend(const Context& context, const FusedAttention& attention) {
  return test_device::play(context, attention, "attend", key_of(attention),
                           [=](auto element) { test_device::forward<decltype(element)>(attention); });
}

bool attend_backward(const Context& context, const FusedAttention& attention,
                     const FusedAttentionGradients& gradients) {
  return test_device::play(
      context, attention, "attend_backward", key_of(attention, gradients),
      [=](auto element) { test_device::backward<decltype(element)>(attention, gradients); });
}

AttentionLibrary attention_library() {
  return {.name = "attention in loops"};
}

}  // namespace dt::kernels::cuda
