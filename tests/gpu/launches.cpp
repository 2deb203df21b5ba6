#include "gpu/launches.hpp"

#include <algorithm>
#include <functional>

#include "base/system/host.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "tensor/buffer.hpp"

namespace dt::test_device {

namespace {

constexpr int kernels = StreamThrottle::kernels_before_first_event + StreamThrottle::kernels_between_events;

double time_of_one(const Context& context, int times, const std::function<void()>& give) {
  double least_s = 1e9;
  constexpr int rounds_before = 3;  // new, captured, launched
  for (int i = 0; i < rounds_before + times; ++i) {
    const double before_s = monotonic_s();
    for (int k = 0; k < kernels; ++k) give();
    accelerator().record_event(context.stream());  // submits the deferred kernels
    const double took_s = monotonic_s() - before_s;
    context.synchronize();
    if (i >= rounds_before) least_s = std::min(least_s, took_s);
  }
  return least_s / kernels;
}

}  // namespace

std::vector<LaunchTime> launch_times(int times) {
  constexpr Device gpu = Device::gpu(0);
  constexpr std::int64_t N = 64;
  const Buffer memory(gpu, 3 * N * N * sizeof(float));
  const Tensor all(memory, DType::f32, {3 * N, N});
  const Tensor x = all.rows(0, N), w = all.rows(N, 2 * N), y = all.rows(2 * N, 3 * N);
  const Context kept_back(1, gpu), as_it_comes(gpu, "launching");
  const auto both = [&](const char* kernel, const auto& give) {
    return LaunchTime{kernel, time_of_one(as_it_comes, times, [&] { give(as_it_comes); }),
                      time_of_one(kept_back, times, [&] { give(kept_back); })};
  };
  return {both("a kernel", [&](const Context& context) { dt::kernels::add(context, x, w, y); }),
          both("a product",
               [&](const Context& context) { dt::kernels::linear(context, x, w, Tensor(), Tensor(), y); })};
}

}  // namespace dt::test_device
