// Tests the merging of partial attentions. Legend: as kernels/attention.hpp.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/attention_cases.hpp"
#include "kernels/elementwise.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("merge_attention weighs parts by their sums of exponentials") {
  const AttentionShape s{1, 2, 1, 1, 2};
  for_each_arithmetic([&](Fixture& f) {
    const auto wide = [&](Shape shape, const std::vector<double>& values) {
      const Tensor tensor = f.wide_output(shape), given = f.values(shape, values);
      cast(f.context, given, tensor);
      return tensor;
    };
    const PartialAttention a{wide({2, 2}, {1, 2, 3, 4}), wide({1, 1, 2}, {0, 700})},
        b{wide({2, 2}, {5, 6, 7, 8}), wide({1, 1, 2}, {0, -700})},
        to{f.output({2, 2}), f.wide_output({1, 1, 2})};
    merge_attention(f.context, s, a, b, to);
    CHECK(to_doubles(to.y_RQ) == std::vector<double>{3, 4, 3, 4});
    CHECK(to_doubles(to.lse_BHT)[0] == Approx(std::log(2.0)));
    CHECK(to_doubles(to.lse_BHT)[1] == 700);
    merge_attention(f.context, s, a, b, {b.y_RQ, a.lse_BHT});  // output overwrites the parts
    CHECK(to_doubles(b.y_RQ) == std::vector<double>{3, 4, 3, 4});
    CHECK(same_bits(a.lse_BHT, to.lse_BHT));
  });
}

TEST_CASE("merging with what saw nothing changes nothing, and nothing with nothing stays so") {
  const AttentionShape s{2, 5, 3, 1, 7};
  for_each_arithmetic([&](Fixture& f) {
    const auto filled = [&](Shape shape, double value) {
      const Tensor tensor = f.wide_output(shape);
      cast(f.context, f.values(shape, std::vector<double>(static_cast<std::size_t>(shape.numel()), value)),
           tensor);
      return tensor;
    };
    const PartialAttention part{f.wide_random({10, 21}, 1), f.wide_random({2, 3, 5}, 2, 10)},
        nothing{filled({10, 21}, 0), filled({2, 3, 5}, -infinity)}, to = partial(f, s);
    merge_attention(f.context, s, part, nothing, to);
    CHECK((same_bits(to.y_RQ, part.y_RQ) && same_bits(to.lse_BHT, part.lse_BHT)));
    merge_attention(f.context, s, nothing, part, to);
    CHECK((same_bits(to.y_RQ, part.y_RQ) && same_bits(to.lse_BHT, part.lse_BHT)));
    merge_attention(f.context, s, nothing, nothing, to);
    CHECK((same_bits(to.y_RQ, nothing.y_RQ) && same_bits(to.lse_BHT, nothing.lse_BHT)));
  });
}

TEST_CASE("fast merge_attention agrees with its reference", "[device]") {
  for (const AttentionShape& s : {AttentionShape{1, 1, 1, 1, 1}, {3, 70, 6, 2, 33}, {1, 300, 4, 4, 64}}) {
    const Case run = [&](Fixture& f) -> std::vector<Tensor> {
      const PartialAttention a{f.wide_random({rows(s), query(s)}, 1),
                               f.wide_random({s.batch, s.query_heads, s.sequence}, 2, 5)},
          b{f.wide_random({rows(s), query(s)}, 3), f.wide_random({s.batch, s.query_heads, s.sequence}, 4, 5)},
          to{f.output({rows(s), query(s)}), f.wide_output({s.batch, s.query_heads, s.sequence})};
      merge_attention(f.context, s, a, b, to);
      return {to.y_RQ, to.lse_BHT};
    };
    check_fast_kernel(run);
    check_fast_half_kernel(run);
    check_gpu_kernel(run);
  }
}

}  // namespace
}  // namespace dt::kernels::test
