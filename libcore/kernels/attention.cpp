#include "kernels/attention.hpp"

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/attention.hpp"

namespace dt::kernels {
namespace {

struct Dims {
  std::int64_t rows, query, packed;  // R = B·T, H·D, E
};

Dims check_attention(const char* kernel, const AttentionShape& shape, const Tensor& qkv_RE) {
  const std::int64_t H = shape.query_heads, K = shape.key_value_heads, D = shape.head_dim;
  DT_CHECK(K > 0 && H % K == 0, "{}: {} query heads are no multiple of {} key-value heads", kernel, H, K);
  const Dims dims{shape.batch * shape.sequence, H * D, (H + 2 * K) * D};
  check_tensor(kernel, "qkv_RE", qkv_RE, qkv_RE.dtype(), {dims.rows, dims.packed});
  return dims;
}

void check_first(const char* kernel, const AttentionShape& shape, const Tensor& first_R) {
  if (!first_R) return;
  check_tensor(kernel, "first_R", first_R, DType::i32, {shape.batch * shape.sequence});
  const std::int32_t* first = first_R.data<std::int32_t>();
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    std::int64_t lowest = 0;
    for (std::int64_t t = 0; t < shape.sequence; ++t, ++first) {
      DT_CHECK(*first >= lowest && *first <= t,
               "{}: the first visible key of position {} in sequence {} is {}, expected {} to {}", kernel, t,
               b, *first, lowest, t);
      lowest = *first;
    }
  }
}

}  // namespace

void attention(const Context& context, const AttentionShape& shape, const Tensor& first_R,
               const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT) {
  const DType dtype = qkv_RE.dtype();
  const Dims n = check_attention("attention", shape, qkv_RE);
  check_first("attention", shape, first_R);
  check_tensor("attention", "y_RQ", y_RQ, dtype, {n.rows, n.query});
  check_tensor("attention", "lse_BHT", lse_BHT, statistics_dtype(dtype),
               {shape.batch, shape.query_heads, shape.sequence});
  static constexpr Implementations<decltype(attention)> implementations{
      reference::attention<double>, reference::attention<float>, cpu::attention};
  pick(implementations, context, "attention", dtype)(context, shape, first_R, qkv_RE, y_RQ, lse_BHT);
}

void attention_backward(const Context& context, const AttentionShape& shape, const Tensor& first_R,
                        const Tensor& dy_RQ, const Tensor& qkv_RE, const Tensor& y_RQ, const Tensor& lse_BHT,
                        const Tensor& dqkv_RE) {
  const DType dtype = qkv_RE.dtype();
  const Dims n = check_attention("attention_backward", shape, qkv_RE);
  check_first("attention_backward", shape, first_R);
  check_tensor("attention_backward", "dy_RQ", dy_RQ, dtype, {n.rows, n.query});
  check_tensor("attention_backward", "y_RQ", y_RQ, dtype, {n.rows, n.query});
  check_tensor("attention_backward", "lse_BHT", lse_BHT, statistics_dtype(dtype),
               {shape.batch, shape.query_heads, shape.sequence});
  check_tensor("attention_backward", "dqkv_RE", dqkv_RE, dtype, {n.rows, n.packed});
  static constexpr Implementations<decltype(attention_backward)> implementations{
      reference::attention_backward<double>, reference::attention_backward<float>, cpu::attention_backward};
  pick(implementations, context, "attention_backward", dtype)(context, shape, first_R, dy_RQ, qkv_RE, y_RQ,
                                                              lse_BHT, dqkv_RE);
}

void first_visible(const Context& context, std::int64_t sequence, std::int64_t window, const Tensor& starts_R,
                   const Tensor& first_R) {
  DT_CHECK(sequence > 0 && window > 0, "first_visible: a window of {} in sequences of {}", window, sequence);
  check_rank("first_visible", "first_R", first_R, 1);
  check_tensor("first_visible", "first_R", first_R, DType::i32, {first_R.dim(0)});
  if (starts_R) check_tensor("first_visible", "starts_R", starts_R, DType::i32, {first_R.dim(0)});
  reference::first_visible(context, sequence, window, starts_R, first_R);
}

void rotary(const Context& context, const AttentionShape& shape, const Tensor& positions_R,
            const Tensor& cos_PD2, const Tensor& sin_PD2, bool inverse, const Tensor& qkv_RE) {
  const Dims n = check_attention("rotary", shape, qkv_RE);
  check_rank("rotary", "cos_PD2", cos_PD2, 2);
  const std::int64_t P = cos_PD2.dim(0), half = shape.head_dim / 2;
  DT_CHECK(shape.head_dim % 2 == 0, "rotary: the head dim {} is odd", shape.head_dim);
  check_tensor("rotary", "cos_PD2", cos_PD2, statistics_dtype(qkv_RE.dtype()), {P, half});
  check_tensor("rotary", "sin_PD2", sin_PD2, statistics_dtype(qkv_RE.dtype()), {P, half});
  check_tensor("rotary", "positions_R", positions_R, DType::i32, {n.rows});
  check_ids("rotary", positions_R, 0, P);
  static constexpr Implementations<decltype(rotary)> implementations{reference::rotary<double>,
                                                                     reference::rotary<float>, cpu::rotary};
  pick(implementations, context, "rotary", qkv_RE.dtype())(context, shape, positions_R, cos_PD2, sin_PD2,
                                                           inverse, qkv_RE);
}

void rotary_tables(const RotaryFrequencies& frequencies, const Tensor& cos_PD2, const Tensor& sin_PD2) {
  check_rank("rotary_tables", "cos_PD2", cos_PD2, 2);
  check_tensor("rotary_tables", "sin_PD2", sin_PD2, cos_PD2.dtype(), {cos_PD2.dim(0), cos_PD2.dim(1)});
  // Filled once in a run, in double whatever the dtype: there is nothing to make faster.
  const bool is_double = cos_PD2.dtype() == DType::f64;
  (is_double ? reference::rotary_tables<double> : reference::rotary_tables<float>)(frequencies, cos_PD2,
                                                                                   sin_PD2);
}

}  // namespace dt::kernels
