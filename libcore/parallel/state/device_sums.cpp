#include "parallel/state/device_sums.hpp"

#include <algorithm>

#include "kernels/elementwise.hpp"

namespace dt::parallel {

namespace {
constexpr std::int64_t num_digits = ExactSum::num_digits + 1;
}  // namespace

DeviceSums::DeviceSums(const Context& context, int count)
    : context_(context),
      count_(count),
      digits_(context.device(), static_cast<std::size_t>(count * num_digits) * sizeof(std::int64_t)) {
  if (context.device() != Device::host())
    host_digits_ = Buffer(Device::host(), digits_.bytes(), Pages::pinned);
}

Tensor DeviceSums::digits_view(const Buffer& buffer) const {
  return Tensor(buffer, DType::i64, Shape{count_, num_digits});
}

void DeviceSums::add(int sum, const Tensor& terms_N) {
  kernels::accumulate_exact(context_, terms_N, digits_view(digits_).flat(sum * num_digits, num_digits));
}

void DeviceSums::drain_into(std::span<ExactSum* const> sums) {
  const Tensor digits = digits_view(digits_), seen = host_digits_.data() ? digits_view(host_digits_) : digits;
  if (host_digits_.data()) kernels::copy(context_, digits, seen);
  context_.synchronize();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto values = seen.span<std::int64_t>().subspan(i * num_digits);
    sums[i]->add_digits(values.first<num_digits>());
  }
  kernels::zero(context_, digits);
}

void add_squared_norm(const Context& context, const LocalGroup& group, const Tensor& gradient,
                      DeviceSums& sums, int index) {
  constexpr std::int64_t block = kernels::sum_block_elements;
  static_assert(shard_granule % block == 0);
  const Range counted = even_range(group.replica, group.num_replicas, gradient.numel(), block);
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
