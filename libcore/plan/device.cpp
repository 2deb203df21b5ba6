#include "plan/device.hpp"

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "comm/gpus.hpp"
#include "kernels/attention.hpp"
#include "kernels/linear.hpp"
#include "plan/precision.hpp"
#include "tensor/accelerator.hpp"

namespace dt::plan {

namespace {

/// Error{usage}: what CPUs alone can be told.
void check_options_of_gpus(const Settings& settings) {
  const bool is_short = dtype_bytes(precision_of(settings).compute) == 2;  // refuses tf32 of others than fp32
  if (settings.matmul == "auto" || settings.matmul == "tf32" || (settings.matmul == "fp32" && !is_short))
    return;
  throw Error(ErrorKind::usage,
              fmt::format("--matmul {} is how CPUs multiply {}, and --device {} computes on GPUs",
                          settings.matmul, settings.precision, settings.device),
              "give --matmul auto, or fp32 or tf32 with --precision fp32, or --device cpu");
}

/// Error{usage}: what GPUs alone can be told.
void check_options_of_cpus(const Settings& settings) {
  if (settings.matmul != "tf32") return;
  throw Error(ErrorKind::usage,
              fmt::format("--matmul tf32 is how GPUs multiply fp32, and --device {} computes on {}",
                          settings.device, settings.device == "cpu" ? "CPUs" : "the CPUs of these hosts"),
              "give --matmul auto, or --device cuda where ranks have GPUs");
}

}  // namespace

Launch find_launch(const Settings& settings, const comm::Ranks& ranks, int num_ranks) {
  comm::Communicator& world = ranks.world;
  Launch launch = find_launch(world, num_ranks);
  const std::string asked = comm::broadcast_text(world, settings.device);
  std::vector<comm::SeenGpus> seen = comm::see_gpus(world, asked != "cpu");
  seen.resize(static_cast<std::size_t>(num_ranks));
  comm::DeviceChoice choice;
  std::string attention;
  comm::together(world, [&] {
    if (asked == "cuda") check_options_of_gpus(settings);
    if (asked == "cpu") check_options_of_cpus(settings);
    choice = comm::choose_devices(asked, seen);
    launch.device = choice.of_rank[static_cast<std::size_t>(launch.rank)];
    launch.gpus_per_node = choice.gpus_per_node;
    launch.gpus = choice.gpu_of_rank;
    if (launch.device == Device::host()) return check_options_of_cpus(settings);
    if (world.rank() >= num_ranks) return;
    check_options_of_gpus(settings);
    accelerator().set_time_limit(settings.comm_timeout.seconds);
    launch.gpu = accelerator().gpus().at(static_cast<std::size_t>(launch.device.index()));
    attention = kernels::attention_library();
    launch.gpu.software +=
        fmt::format(", {}, {}", kernels::product_library(), attention.empty() ? "no cuDNN" : attention);
    launch.gpu_free_bytes = accelerator().free_bytes(launch.device);
  });
  if (!choice.announcement.empty()) ranks.console.info("{}", choice.announcement);
  for (const std::string& warning : choice.warnings) ranks.console.warn("{}", warning);
  if (launch.device != Device::host() && attention.empty())
    ranks.console.warn(
        "there is no cuDNN (9 or newer), or dt was built without: slower kernels compute attention in 16 "
        "bits");
  return launch;
}

}  // namespace dt::plan
