// gpu_bytes: a line for each of the kernels whose speed is that of memory: what it moves a second on this
// machine's first GPU, and which part that is of what a copy does. Then what launching takes. What is
// measured ends with a tab. Exit status 77 where no GPU answers.

#include <fmt/core.h>

#include "base/error.hpp"
#include "gpu/bytes.hpp"
#include "gpu/launches.hpp"
#include "kernels/cuda/use.hpp"
#include "tensor/accelerator.hpp"

namespace {

/// Empty where GPUs answer.
std::string what_is_missing() {
  try {
    return dt::accelerator().gpus().empty() ? "no GPU may be seen" : "";
  } catch (const dt::Error& error) {
    return error.message();
  }
}

}  // namespace

int main() {
  constexpr std::int64_t rows = 16384;  // no tensor fits a GPU's cache
  constexpr int times = 50;
  dt::kernels::cuda::use_gpus();
  const std::string missing = what_is_missing();
  if (!missing.empty()) {
    fmt::print("SKIP: {}\n", missing);
    return 77;
  }
  const dt::Context context(1, dt::Device::gpu(0));
  const std::vector<dt::test_device::Rate> rates = dt::test_device::kernel_rates(context, rows, times);
  for (const auto& rate : rates) {
    const double share = rate.bytes_per_s() / rates.front().bytes_per_s();
    fmt::print("bytes of {}\t{:.0f} GB/s, {:.0f} % of a copy\n", rate.kernel, rate.bytes_per_s() / 1e9,
               100 * share);
  }
  for (const auto& time : dt::test_device::launch_times(times))
    fmt::print("host's time for {}\t{:.1f} µs, in graphs {:.1f}\n", time.kernel, 1e6 * time.one_by_one_s,
               1e6 * time.in_graphs_s);
}
