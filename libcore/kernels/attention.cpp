#include "kernels/attention.hpp"

#include <algorithm>

#include "kernels/check.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::kernels {
namespace {

struct Dims {
  std::int64_t rows, query, key_rows, key;  // B·Tq, H·D, B·Tk, K·D
};

void check_heads(const char* kernel, const AttentionShape& shape) {
  const std::int64_t H = shape.query_heads, K = shape.key_value_heads;
  DT_CHECK(K > 0 && H % K == 0, "{}: {} query heads are not a multiple of {} key-value heads", kernel, H, K);
}

/// Checks that the columns have room for `width` columns of the dtype in `rows` rows.
void check_columns(const char* kernel, const char* name, const Columns& columns, DType dtype,
                   std::int64_t rows, std::int64_t width) {
  check_rank(kernel, name, columns.rows_RS, 2);
  const std::int64_t S = columns.rows_RS.dim(1);
  check_tensor(kernel, name, columns.rows_RS, dtype, {rows, S});
  DT_CHECK(columns.first >= 0 && columns.first + width <= S, "{}: {} has {} columns, expected {} from {} on",
           kernel, name, S, width, columns.first);
}

Dims check_inputs(const char* kernel, const AttentionShape& shape, const QueriesKeysValues& qkv) {
  check_heads(kernel, shape);
  check_rank(kernel, "k", qkv.k.rows_RS, 2);
  const DType dtype = qkv.q.rows_RS.dtype();
  const Dims n{shape.batch * shape.sequence, shape.query_heads * shape.head_dim, qkv.k.rows_RS.dim(0),
               shape.key_value_heads * shape.head_dim};
  const auto& [scale, softcap] = shape.scores;
  constexpr double most = 1e30;  // products with fp32 scores stay finite
  DT_CHECK(scale >= 0 && scale <= most && softcap >= 0 && softcap <= most,
           "{}: scores have a scale of {} and a soft cap of {}", kernel, scale, softcap);
  DT_CHECK(shape.batch > 0 && n.key_rows > 0 && n.key_rows % shape.batch == 0,
           "{}: {} rows of keys in {} sequences", kernel, n.key_rows, shape.batch);
  check_columns(kernel, "q", qkv.q, dtype, n.rows, n.query);
  check_columns(kernel, "k", qkv.k, dtype, n.key_rows, n.key);
  check_columns(kernel, "v", qkv.v, dtype, n.key_rows, n.key);
  return n;
}

/// Checks the visibility, and first_R's values if they are on the host.
void check_visibility(const char* kernel, const AttentionShape& shape, const Visibility& visibility) {
  const std::int64_t position = visibility.query_position;
  DT_CHECK(position >= 0 && visibility.key_position >= 0, "{}: queries at position {}, keys at {}", kernel,
           position, visibility.key_position);
  if (!visibility.first_R) return;
  check_tensor(kernel, "first_R", visibility.first_R, DType::i32, {shape.batch * shape.sequence});
  if (visibility.first_R.device() != Device::host()) return;
  const std::int32_t* first = visibility.first_R.data<std::int32_t>();
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    std::int64_t lowest = 0;
    for (std::int64_t t = 0; t < shape.sequence; ++t, ++first) {
      DT_CHECK(*first >= lowest && *first <= position + t,
               "{}: the first visible key of position {} in sequence {} is {}, expected {} to {}", kernel,
               position + t, b, *first, lowest, position + t);
      lowest = *first;
    }
  }
}

/// Returns the dtype that an output must have: the inputs', or that of their sums.
DType output_dtype(DType inputs, const Tensor& output) {
  return output.dtype() == inputs ? inputs : statistics_dtype(inputs);
}

void check_gradients(const Dims& n, DType dtype, const AttentionGradients& gradients) {
  static constexpr const char* kernel = "attention_backward";
  const auto& [dq, dk, dv] = gradients.to;
  const DType of_queries = output_dtype(dtype, dq.rows_RS), of_keys = output_dtype(dtype, dk.rows_RS);
  check_columns(kernel, "dq", dq, of_queries, n.rows, n.query);
  check_columns(kernel, "dk", dk, of_keys, n.key_rows, n.key);
  check_columns(kernel, "dv", dv, of_keys, n.key_rows, n.key);
  const DType sums = statistics_dtype(dtype);
  DT_CHECK((!gradients.add_q || of_queries == sums) && (!gradients.add_kv || of_keys == sums),
           "{}: gradients are added in {}, not in {}", kernel, dtype_name(sums), dtype_name(dtype));
}

}  // namespace

QueriesKeysValues packed(const AttentionShape& shape, const Tensor& qkv_RE) {
  const std::int64_t D = shape.head_dim, keys = shape.query_heads * D;
  return {{qkv_RE}, {qkv_RE, keys}, {qkv_RE, keys + shape.key_value_heads * D}};
}

void attention(const Context& context, const AttentionShape& shape, const Visibility& visibility,
               const QueriesKeysValues& qkv, const Tensor& y_RQ, const Tensor& lse_BHT,
               const Tensor& max_scores_H) {
  const DType dtype = qkv.q.rows_RS.dtype();
  const Dims n = check_inputs("attention", shape, qkv);
  check_visibility("attention", shape, visibility);
  check_tensor("attention", "y_RQ", y_RQ, output_dtype(dtype, y_RQ), {n.rows, n.query});
  check_tensor("attention", "lse_BHT", lse_BHT, statistics_dtype(dtype),
               {shape.batch, shape.query_heads, shape.sequence});
  if (max_scores_H) {
    DT_CHECK(context.device() == Device::host(), "attention: only the host finds the largest scores");
    check_tensor("attention", "max_scores_H", max_scores_H, statistics_dtype(dtype), {shape.query_heads});
  }
  static constexpr Implementations<decltype(attention)> implementations{
      reference::attention<double>, reference::attention<float>, cpu::attention, &GpuKernels::attention};
  select_kernel(implementations, context, "attention", dtype)(context, shape, visibility, qkv, y_RQ, lse_BHT,
                                                              max_scores_H);
}

void attention_backward(const Context& context, const AttentionShape& shape, const Visibility& visibility,
                        const Tensor& dy_RQ, const QueriesKeysValues& qkv, const Tensor& y_RQ,
                        const Tensor& lse_BHT, const AttentionGradients& gradients) {
  const DType dtype = qkv.q.rows_RS.dtype();
  const Dims n = check_inputs("attention_backward", shape, qkv);
  check_visibility("attention_backward", shape, visibility);
  check_tensor("attention_backward", "dy_RQ", dy_RQ, dtype, {n.rows, n.query});
  check_tensor("attention_backward", "y_RQ", y_RQ, dtype, {n.rows, n.query});
  check_tensor("attention_backward", "lse_BHT", lse_BHT, statistics_dtype(dtype),
               {shape.batch, shape.query_heads, shape.sequence});
  check_gradients(n, dtype, gradients);
  static constexpr Implementations<decltype(attention_backward)> implementations{
      reference::attention_backward<double>, reference::attention_backward<float>, cpu::attention_backward,
      &GpuKernels::attention_backward};
  select_kernel(implementations, context, "attention_backward", dtype)(context, shape, visibility, dy_RQ, qkv,
                                                                       y_RQ, lse_BHT, gradients);
}

bool needs_separate_gradients(Device device, DType dtype, std::int64_t head_dim) {
  return device != Device::host() && dtype_bytes(dtype) == 2 && head_dim % 8 == 0;
}

AttentionLibrary attention_library() {
  return gpu_kernels().attention_library();
}

std::vector<std::string> attention_fallbacks() {
  return gpu_kernels().attention_fallbacks();
}

void merge_attention(const Context& context, const AttentionShape& shape, const PartialAttention& a,
                     const PartialAttention& b, const PartialAttention& to) {
  const std::int64_t R = shape.batch * shape.sequence, H = shape.query_heads, Q = H * shape.head_dim;
  const DType sums = statistics_dtype(to.y_RQ.dtype());
  for (const PartialAttention* part : {&a, &b, &to}) {
    check_tensor("merge_attention", "y_RQ", part->y_RQ, part == &to ? to.y_RQ.dtype() : sums, {R, Q});
    check_tensor("merge_attention", "lse_BHT", part->lse_BHT, sums, {shape.batch, H, shape.sequence});
  }
  static constexpr Implementations<decltype(merge_attention)> implementations{
      reference::merge_attention<double>, reference::merge_attention<float>, cpu::merge_attention,
      &GpuKernels::merge_attention};
  select_kernel(implementations, context, "merge_attention", to.y_RQ.dtype())(context, shape, a, b, to);
}

void first_visible(const Context& context, std::int64_t sequence, std::int64_t position, std::int64_t window,
                   const Tensor& starts_R, const Tensor& first_R) {
  DT_CHECK(sequence > 0 && position >= 0 && window > 0,
           "first_visible: a window of {} in sequences of {} from {} on", window, sequence, position);
  check_rank("first_visible", "first_R", first_R, 1);
  check_tensor("first_visible", "first_R", first_R, DType::i32, {first_R.dim(0)});
  if (starts_R) check_tensor("first_visible", "starts_R", starts_R, DType::i32, {first_R.dim(0)});
  const bool is_on_host = context.device() == Device::host();
  (is_on_host ? reference::first_visible : gpu_kernels(context).first_visible)(context, sequence, position,
                                                                               window, starts_R, first_R);
}

void document_starts(const Context& context, const Tensor& bounds_N1, const Tensor& first_R) {
  check_rank("document_starts", "first_R", first_R, 1);
  check_tensor("document_starts", "first_R", first_R, DType::i32, {first_R.dim(0)});
  check_rank("document_starts", "bounds_N1", bounds_N1, 1);
  check_tensor("document_starts", "bounds_N1", bounds_N1, DType::i32, {bounds_N1.dim(0)});
  const auto bounds = bounds_N1.span<std::int32_t>();
  DT_CHECK(!bounds.empty() && bounds.front() == 0 && bounds.back() == first_R.dim(0) &&
               std::ranges::is_sorted(bounds),
           "document_starts: the bounds do not rise from 0 to {}", first_R.dim(0));
  reference::document_starts(context, bounds_N1, first_R);
}

}  // namespace dt::kernels
