#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "model/model_spec.hpp"
#include "parallel/state/device_sums.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

/// Returns the squared norm, from the flat buffers of all ranks, of a gradient that does not depend
/// on the layout. Padding is zero.
ExactSum squared_norm(const model::ParameterTable& table, const model::Layout& layout) {
  const Context context(1, Device::host());
  DeviceSums sums(context, 1);
  for (int rank = 0; rank < layout.size(); ++rank) {
    const LocalTable local(table, layout, layout.coordinates_of(rank));
    for (const LocalGroup& group : local.groups()) {
      std::vector<float> own(static_cast<std::size_t>(group.owned_range.count));
      for (const int index : group.params) {
        const LocalParam& param = local.param(index);
        for (const CopyRange& run : intersect(Piece::whole(param.piece.global), param.owned_piece)) {
          for (std::int64_t i = 0; i < run.count; ++i)
            own[static_cast<std::size_t>(param.owned_offset + run.target + i)] =
                1.0F / static_cast<float>(1 + (param.param * 31 + (run.source + i) * 7) % 101);
        }
      }
      add_squared_norm(context, group, host_tensor(own), sums, 0);
    }
  }
  ExactSum sum;
  sums.drain_into(std::array{&sum});
  return sum;
}

model::ModelSpec spec() {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.vocabulary = 1301;
  s.mlp_hidden = 333;
  s.query_heads = 4;
  s.key_value_heads = 2;
  s.tied = true;
  return s;
}

/// Compares the sums' bits, which are finer than a double.
bool same(ExactSum a, ExactSum b) {
  return std::ranges::equal(a.digits(), b.digits());
}

}  // namespace

TEST_CASE("whatever ranks divide, the squared norm has each element once") {
  const model::ParameterTable table(spec());
  const ExactSum whole = squared_norm(table, {});
  const int pp = GENERATE(1, 2), tp = GENERATE(1, 2, 4);
  const ExactSum one = squared_norm(table, {.pp = pp, .tp = tp});
  CHECK(one.value() == Approx(whole.value()).epsilon(1e-12));
  if (tp == 1) CHECK(same(one, whole));
  for (const int zero : {0, 1, 3}) {
    for (const int dp : {2, 3})
      CHECK(same(squared_norm(table, {.pp = pp, .dp = dp, .tp = tp, .zero = zero}), one));
  }
  CHECK(same(squared_norm(table, {.pp = pp, .dp = 4, .tp = tp, .zero = 1, .zero_group = 2}), one));
}
