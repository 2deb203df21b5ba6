#pragma once
// Checks that reductions and gathers of a group give the bits of the serial tree.

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "comm/backend.hpp"
#include "comm/samples.hpp"

namespace dt::comm::test {

struct Trial {
  std::int64_t numel;
  Reduction reduction = Reduction::sum;
  bool in_place = false;
  std::int64_t granule = 1;  // ranges are multiples of it
};

/// Checks all_reduce, reduce_scatter, and all_gather of the reduce_scatter's result.
template <DType dtype>
void check_operations(Communicator& group, const Trial& trial) {
  using Stored = typename Element<dtype>::Stored;
  const auto what = [&](const char* name) {
    return fmt::format("{} of {} {} elements, {} ranks, reduction {}, in place: {}, granule {}", name,
                       trial.numel, dtype_name(dtype), group.size(), static_cast<int>(trial.reduction),
                       trial.in_place, trial.granule);
  };
  const Range own = even_range(group.rank(), group.size(), trial.numel, trial.granule);
  const auto mine =
      repeated(trial.numel, [&](std::int64_t i) { return sample<dtype>(Values::wild, group.rank(), i); });
  const auto result = repeated(trial.numel, [&](std::int64_t i) {
    return combined<dtype>(trial.reduction, Values::wild, group.size(), i);
  });
  const auto same = [](const Stored* a, const Stored* b, std::int64_t count) {
    return count == 0 || std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(Stored)) == 0;
  };

  Guarded<Stored> in(trial.numel);
  Guarded<Stored> out(trial.in_place ? 0 : trial.numel);
  Guarded<Stored>& to = trial.in_place ? in : out;
  std::ranges::copy(mine, in.data());
  group.all_reduce(in.view(dtype), to.view(dtype), trial.reduction).wait_host();
  require(same(to.data(), result.data(), trial.numel), what("all_reduce"));
  require(trial.in_place || same(in.data(), mine.data(), trial.numel), what("the input of all_reduce"));

  std::ranges::copy(mine, in.data());
  std::ranges::fill(out.span(), Stored{});
  const Tensor local = to.view(dtype).flat(own.begin, own.count);
  group.reduce_scatter(in.view(dtype), local, trial.reduction, trial.granule).wait_host();
  require(same(to.data() + own.begin, result.data() + own.begin, own.count), what("reduce_scatter"));
  group.all_gather(local, to.view(dtype), trial.granule).wait_host();
  require(same(to.data(), result.data(), trial.numel), what("all_gather"));
  require(in.is_intact() && out.is_intact(), what("outside"));
}

}  // namespace dt::comm::test
