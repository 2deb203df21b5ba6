// Tests attention by a GPU's library, if the library has it.
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <utility>

#include "kernels/attention_cases.hpp"
#include "kernels/cuda/attention/attention_by_library.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("a GPU's library attends where there is one", "[device]") {
  const ScoreTransform scores = GENERATE(ScoreTransform{}, ScoreTransform{0.2, 0}, ScoreTransform{0, 30});
  on_test_device(DType::bf16, 1, [&](Fixture& f) {
    if (attention_library().name.empty()) return;
    const AttentionShape s{2, 64, 4, 2, 64, scores};
    const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
    const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({s.batch, s.query_heads, s.sequence});
    for (const Tensor& first : {Tensor(), window(9)(f, s)}) {
      CHECK(cuda::attention_by_library(f.context, s, {first}, packed(s, qkv), y, lse));
      CHECK(cuda::attention_backward_by_library(f.context, s, {first}, dy, packed(s, qkv), y, lse,
                                                {packed(s, qkv)}));
    }
  });
}

TEST_CASE("heads of a GPU's library that wait for each other have the bits of all at once", "[device]") {
  const bool over_inputs = GENERATE(false, true);
  const auto on_device = [&](const AttentionShape& s, const FirstKeys& first, DType dtype) {
    std::vector<std::vector<double>> results;
    on_test_device(dtype, 1, [&](Fixture& f) {
      for (const Tensor& result : both_passes(f, s, 1, first, over_inputs))
        results.push_back(to_doubles(f.on_host(result)));
    });
    return results;
  };
  for (const AttentionShape& s : {AttentionShape{4, 9, 6, 3, 8}, {1, 17, 4, 4, 16}, {2, 17, 4, 2, 8, {1, 2}}})
    for (const FirstKeys& first : {FirstKeys(all_keys), documents(3)})
      for (const DType dtype : {DType::bf16, DType::f16}) {
        const auto at_once = on_device(s, first, dtype);
        for (const std::int64_t most_bytes : {1, 700, 2000}) {
          CAPTURE(s.batch, s.sequence, s.query_heads, most_bytes);
          const std::int64_t before = std::exchange(cuda::max_chunk_bytes, most_bytes);
          CHECK(on_device(s, first, dtype) == at_once);
          cuda::max_chunk_bytes = before;
        }
      }
}

TEST_CASE("a backward pass whose weights do not fit has the same bits again, in the memory of its estimate",
          "[.ordered]") {
  const AttentionShape s{1, 16384, 4, 1, 64};
  const auto gradients = [&](Kernels kernels, std::uint64_t seed) {
    std::vector<double> result;
    on_test_device(
        DType::bf16, seed,
        [&](Fixture& f) {
          const Tensor qkv = f.random({rows(s), packed(s)}, 1), dy = f.random({rows(s), query(s)}, 2);
          const Tensor y = f.output({rows(s), query(s)}), lse = f.wide_output({1, 4, s.sequence}),
                       dqkv = f.output({rows(s), packed(s)});
          attention(f.context, s, {}, packed(s, qkv), y, lse);
          attention_backward(f.context, s, {}, dy, packed(s, qkv), y, lse, {packed(s, dqkv)});
          result = to_doubles(f.on_host(dqkv));
          const AttentionLibrary library = attention_library();
          if (kernels == Kernels::own || library.name.empty()) return;
          const bool can_order = library.ordered_major == accelerator().gpus().at(0).major;
          CHECK(f.context.scratch().peak_bytes() <=
                cuda::attention_scratch_bytes(s, {DType::bf16, true, false, can_order}) +
                    (std::size_t{1} << 20));
          std::cout << library.name << (can_order ? ": ordered, " : ": kept weights, ")
                    << f.context.scratch().peak_bytes() << " bytes of scratch memory\n";
        },
        kernels);
    return result;
  };
  const std::vector<double> own = gradients(Kernels::own, 1), first = gradients(Kernels::any, 1);
  CHECK(gradients(Kernels::any, 2) == first);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    difference += (first[i] - own[i]) * (first[i] - own[i]);
    norm += own[i] * own[i];
  }
  CHECK(std::sqrt(difference / norm) < in_parts.bf16);
}

}  // namespace
}  // namespace dt::kernels::test
