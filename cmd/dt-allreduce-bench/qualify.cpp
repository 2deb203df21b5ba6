#include "cmd/dt-allreduce-bench/qualify.hpp"

#include <array>

#include "comm/exchange.hpp"

namespace dt::allreduce_bench {

bench::LinkSettings link_settings(const Options& options) {
  const bench::Problem problem{
      .operation = bench::Operation::send_receive, .dtype = options.dtype, .num_ranks = 2};
  const std::vector<bench::Problem> sizes =
      bench::at_sizes(problem, std::array{options.min_bytes, options.max_bytes});
  return {sizes.front(), sizes.back(), options.measure, options.slow_below};
}

std::vector<bench::RankedDevice> measure_devices(const Options& options, const RankDevice& device,
                                                 bench::Workspace& workspace, bench::DeadlineTimer& limit,
                                                 const comm::Ranks& ranks) {
  const bench::DeviceSettings settings{
      .copy_bytes = options.max_bytes, .measure = options.measure, .slow_below = options.slow_below};
  const auto measure = [&](const Context& context) {
    return bench::measure_devices(ranks.world, context, settings, device.places(), workspace, limit);
  };
  const bool is_gpu = device.context().device() != Device::host();
  if (!is_gpu) comm::require_threads(ranks, device.cores());
  std::vector<bench::RankedDevice> devices =
      is_gpu ? measure(device.context()) : measure(Context(device.cores(), Device::host()));
  ranks.console.write_text(ranks.console.json() ? bench::json_device_lines(devices)
                                                : bench::device_table(devices));
  return devices;
}

bench::LinkSection measure_links(const Options& options, const RankDevice& device, bench::Backend& backend,
                                 bench::Workspace& workspace, bench::DeadlineTimer& limit,
                                 const comm::Ranks& ranks) {
  std::vector<std::string> hosts;
  for (const bench::DevicePlace& place : device.places()) hosts.push_back(place.host);
  bench::LinkSection section{
      backend.name(),
      bench::measure_links(ranks.world, backend, link_settings(options), hosts, workspace, limit)};
  ranks.console.write_text(ranks.console.json() ? bench::json_link_lines(section, device.places())
                                                : bench::link_table(section, device.places()));
  return section;
}

}  // namespace dt::allreduce_bench
