#include <catch2/catch.hpp>

#include "base/numeric/integer.hpp"
#include "kernels/cuda/attention/attention_by_library.hpp"

namespace dt::kernels::cuda {
namespace {

constexpr std::int64_t GiB = std::int64_t{1} << 30;

AttentionShape llama_8b(std::int64_t batch, std::int64_t sequence) {
  return {batch, sequence, 32, 8, 128};
}

TEST_CASE("the backward pass orders its sums where a key-value head's weights do not fit, and a GPU can") {
  for (const std::int64_t T : {1024, 8192, 11585, 16384, 131072}) {
    CAPTURE(T);
    const bool fits = 4 * weights_bytes(T, T) <= GiB;
    CHECK(fits == (T < 11585));
    CHECK(choose_backward_algorithm(llama_8b(1, T), T, false, true).is_ordered == !fits);
    CHECK_FALSE(choose_backward_algorithm(llama_8b(1, T), T, false, false).is_ordered);
  }
  // Neither the batch nor a mask changes the way: the bits of a sequence do not depend on others.
  for (const std::int64_t batch : {1, 2, 64})
    for (const bool is_masked : {false, true}) {
      CHECK(choose_backward_algorithm(llama_8b(batch, 16384), 16384, is_masked, true).is_ordered);
      CHECK_FALSE(choose_backward_algorithm(llama_8b(batch, 4096), 4096, is_masked, true).is_ordered);
    }
}

TEST_CASE("cuDNN's front end, which is told the limit, chooses the same way for each part") {
  // Follows cudnn-frontend 1.32, required_dp_workspace_bytes_sm90.
  const auto required = [](std::int64_t b, std::int64_t h_q, std::int64_t s_q, std::int64_t s_kv) {
    return b * h_q * round_up(s_q, 64) * round_up(s_kv, 128) * 2;
  };
  for (const AttentionShape& s : {llama_8b(1, 16384), llama_8b(4, 8192), llama_8b(64, 1000),
                                  AttentionShape{3, 23170, 2, 2, 64}, AttentionShape{3, 23171, 6, 6, 64},
                                  AttentionShape{2, 23104, 1, 1, 8}, AttentionShape{128, 17, 12, 12, 64}}) {
    CAPTURE(s.batch, s.sequence, s.query_heads);
    const BackwardAlgorithm way = choose_backward_algorithm(s, s.sequence, false, true);
    const std::int64_t heads = s.query_heads / s.key_value_heads * way.at_a_time.groups;
    CHECK((required(way.at_a_time.batches, heads, s.sequence, s.sequence) > max_chunk_bytes) ==
          way.is_ordered);
  }
}

TEST_CASE("an ordered backward takes memory for queries and keys, not for their product") {
  const AttentionShape s = llama_8b(1, 131072);
  const auto bytes = [&](bool is_masked, bool can_order) {
    return static_cast<std::int64_t>(attention_scratch_bytes(s, {DType::bf16, true, is_masked, can_order}));
  };
  const std::int64_t weights = 4 * 2 * s.sequence * s.sequence;  // 137 GB
  CHECK(bytes(false, false) > weights);
  CHECK(bytes(false, false) < weights + 3 * GiB);
  CHECK(bytes(false, true) < 5 * GiB / 2);  // dt's own kernels take this for all heads
  CHECK(bytes(true, true) > 2 * s.sequence * s.sequence);
  CHECK(bytes(true, true) < 2 * s.sequence * s.sequence + 2 * GiB);
  CHECK(attention_scratch_bytes(s, {DType::f32, true, true, true}) ==
        attention_scratch_bytes(s, {DType::f32, true, false, false}));
  const AttentionShape narrow{1, 16384, 4, 4, 20};  // the library does not support its widths
  CHECK(attention_scratch_bytes(narrow, {DType::bf16, true, true, true}) == 16384 * 4 * 21 * 4);
}

}  // namespace
}  // namespace dt::kernels::cuda
