#include "plan/device.hpp"

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "comm/gpus.hpp"
#include "plan/precision.hpp"
#include "tensor/accelerator.hpp"

namespace dt::plan {

namespace {

/// Error{usage}: what CPUs alone can be told.
void check_options_of_gpus(const Settings& settings) {
  const bool is_widened = settings.matmul == "fp32" && dtype_bytes(precision_of(settings).compute) == 2;
  if (settings.matmul == "auto" || (settings.matmul == "fp32" && !is_widened)) return;
  throw Error(ErrorKind::usage,
              fmt::format("--matmul {} is how CPUs multiply {}, and --device {} computes on GPUs",
                          settings.matmul, settings.precision, settings.device),
              "give --matmul auto or fp32 with --precision fp32, or --device cpu");
}

}  // namespace

Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks) {
  comm::Communicator& world = ranks.world;
  Launch launch = find_launch(world, num_ranks);
  const std::string asked = comm::broadcast_text(world, settings.device);
  std::vector<comm::SeenGpus> seen = comm::see_gpus(world, asked != "cpu");
  seen.resize(static_cast<std::size_t>(num_ranks));
  comm::DeviceChoice choice;
  comm::together(world, [&] {
    if (asked == "cuda") check_options_of_gpus(settings);
    choice = comm::choose_devices(asked, seen);
    launch.device = choice.of_rank[static_cast<std::size_t>(launch.rank)];
    launch.gpus_per_node = choice.gpus_per_node;
    launch.gpus = choice.gpu_of_rank;
    if (launch.device == Device::host() || world.rank() >= num_ranks) return;
    check_options_of_gpus(settings);
    launch.gpu = accelerator().gpus().at(static_cast<std::size_t>(launch.device.index()));
    launch.gpu_free_bytes = accelerator().free_bytes(launch.device);
  });
  if (!choice.announcement.empty()) ranks.console.info("{}", choice.announcement);
  for (const std::string& warning : choice.warnings) ranks.console.warn("{}", warning);
  return launch;
}

}  // namespace dt::plan
