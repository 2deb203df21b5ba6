#include "parallel/state/squared_norm.hpp"

#include <algorithm>

#include "kernels/elementwise.hpp"

namespace dt::parallel {

void add_squared_norm(const Context& context, const LocalTable& local, const LocalGroup& group,
                      const Tensor& gradient, DeviceSums& sums, int index) {
  constexpr std::int64_t block = kernels::sum_block_elements;
  static_assert(shard_granule % block == 0);
  const Range counted = even_range(local.replica(), local.num_replicas(), gradient.numel(), block);
  for (const Range& run : group.counted_ranges) {
    const std::int64_t first = std::max(run.begin - group.owned_range.begin, counted.begin);
    const std::int64_t last =
        std::min(run.begin + run.count - group.owned_range.begin, counted.begin + counted.count);
    for (std::int64_t begin = first; begin < last;) {
      // Goes up to the next block's beginning, then takes all the rest.
      const std::int64_t end = begin % block == 0 ? last : std::min(last, (begin / block + 1) * block);
      const Arena::Scope scope(context.scratch());
      const Tensor partials_N =
          context.scratch().allocate(DType::f64, {kernels::num_sum_blocks(end - begin)});
      kernels::sum_squares_by_block(context, gradient.flat(begin, end - begin), partials_N);
      sums.add(index, partials_N);
      begin = end;
    }
  }
}

}  // namespace dt::parallel
