#include "kernels/cuda/attention/fused_attention.hpp"

#include <mutex>
#include <set>

#include "kernels/cuda/launch/kernel_key.hpp"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

void add_columns(WorkKey& key, const Columns& columns) {
  add_tensor(key, columns.rows_RS);
  key.add(columns.first);
}

void add_columns(WorkKey& key, const QueriesKeysValues& qkv) {
  for (const Columns* columns : {&qkv.q, &qkv.k, &qkv.v}) add_columns(key, *columns);
}

struct Declines {
  std::mutex mutex;
  std::set<std::string> lines;
};

Declines& declines() {
  static Declines all;
  return all;
}

}  // namespace

WorkKey key_of(const FusedAttention& attention) {
  WorkKey key("attention", attention.shape, attention.mask);
  add_columns(key, attention.qkv);
  add_columns(key, attention.y);
  add_tensor(key, attention.lse_BHT);
  add_tensor(key, attention.added_BTT);
  return key;
}

WorkKey key_of(const FusedAttention& attention, const FusedAttentionGradients& gradients) {
  WorkKey key = key_of(attention);
  key.add("backward");
  add_columns(key, gradients.dy);
  add_columns(key, gradients.to);
  return key;
}

void record_attention_fallback(const std::string& line) {
  const std::lock_guard lock(declines().mutex);
  declines().lines.insert(line);
}

std::vector<std::string> attention_fallbacks() {
  const std::lock_guard lock(declines().mutex);
  return {declines().lines.begin(), declines().lines.end()};
}

}  // namespace dt::kernels::cuda
