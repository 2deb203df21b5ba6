#include "kernels/cuda/launch/work_keys.hpp"

#include <initializer_list>

namespace dt::kernels::cuda {

namespace {

void add(WorkKey& key, const Tensor& tensor) {
  key.add(tensor.raw());
  if (!tensor) return;
  key.add(tensor.dtype());
  for (int i = 0; i < tensor.shape().rank(); ++i) key.add(tensor.dim(i));
  if (tensor.shape().rank() == 2) key.add(tensor.pitch());
}

void add(WorkKey& key, const Columns& columns) {
  add(key, columns.rows_RS);
  key.add(columns.first);
}

void add(WorkKey& key, const QueriesKeysValues& qkv) {
  for (const Columns* columns : {&qkv.q, &qkv.k, &qkv.v}) add(key, *columns);
}

}  // namespace

WorkKey key_of(const Context& context, const Matmul& product) {
  WorkKey key("product", context.arithmetic(), product.left.transposed, product.right.transposed);
  for (const Tensor* tensor :
       {&product.left.stored, &product.right.stored, &product.bias_N, &product.added_MN, &product.output_MN})
    add(key, *tensor);
  return key;
}

WorkKey key_of(const FusedAttention& attention) {
  WorkKey key("attention", attention.shape, attention.mask);
  add(key, attention.qkv);
  add(key, attention.y);
  add(key, attention.lse_BHT);
  add(key, attention.added_BTT);
  return key;
}

WorkKey key_of(const FusedAttention& attention, const FusedAttentionGradients& gradients) {
  WorkKey key = key_of(attention);
  key.add("backward");
  add(key, gradients.dy);
  add(key, gradients.to);
  return key;
}

}  // namespace dt::kernels::cuda
