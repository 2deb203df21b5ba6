#include "parallel/state/device_sums.hpp"

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

}  // namespace dt::parallel
