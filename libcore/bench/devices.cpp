#include "bench/devices.hpp"

#include <algorithm>
#include <span>

#include "base/system/host.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::bench {

namespace {

double product_tflop_s(const Context& context, double seconds) {
  const double rate = context.device() == Device::host()
                          ? kernels::measure_matmul_rate(context, Arithmetic::fp32, seconds)
                          : kernels::measure_gpu_matmul_rate(context, DType::bf16, seconds);
  return rate * 1e-12;
}

double copy_gb_s(const Context& context, const Tensor& from, const Tensor& to,
                 const MeasureSettings& settings) {
  for (std::int64_t i = 0; i < settings.warmup; ++i) kernels::copy(context, from, to);
  context.synchronize();
  const double start_s = monotonic_s();
  for (std::int64_t i = 0; i < settings.iterations; ++i) kernels::copy(context, from, to);
  context.synchronize();
  const double seconds = (monotonic_s() - start_s) / static_cast<double>(settings.iterations);
  return static_cast<double>(from.bytes()) / seconds * 1e-9;
}

/// Returns how many ranks before this one have its host.
int turn_of(std::size_t rank, const std::vector<DevicePlace>& places) {
  const auto own = places.begin() + static_cast<std::ptrdiff_t>(rank);
  const auto is_same = [&](const DevicePlace& place) { return place.host == own->host; };
  return static_cast<int>(std::count_if(places.begin(), own, is_same));
}

void measure_alone(const Context& context, const DeviceSettings& settings, const Workspace::Views& views,
                   DeviceRates& rates) {
  if (context.device() == Device::host()) return;
  const Buffer pinned(Device::host(), views.in.bytes(), Pages::pinned);
  const Tensor on_host(pinned, DType::u8, views.in.shape());
  rates[2] = copy_gb_s(context, views.in, on_host, settings.measure);
  rates[3] = copy_gb_s(context, on_host, views.out, settings.measure);
}

/// Returns the rates of all ranks, by rank.
std::vector<DeviceRates> rates_of_all(comm::Communicator& group, const DeviceRates& own) {
  constexpr auto num_metrics = static_cast<std::int64_t>(device_metrics.size());
  std::vector<DeviceRates> all(static_cast<std::size_t>(group.size()));
  all[static_cast<std::size_t>(group.rank())] = own;
  const Tensor values = host_tensor(std::span(all.front().data(), all.size() * own.size()));
  group.all_gather(values.flat(group.rank() * num_metrics, num_metrics), values).wait_host();
  return all;
}

std::vector<RankedDevice> judged(const std::vector<DeviceRates>& rates,
                                 const std::vector<DevicePlace>& places, double slow_below) {
  std::vector<RankedDevice> devices;
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < rates.size(); ++rank) {
    devices.push_back({.rank = static_cast<int>(rank), .place = places[rank], .rates = rates[rank]});
    names.push_back(places[rank].name);
  }
  for (std::size_t metric = 0; metric < device_metrics.size(); ++metric) {
    std::vector<double> values;
    for (const DeviceRates& its_rates : rates) values.push_back(its_rates[metric]);
    const std::vector<RelativeRate> standings = compare_to_median(names, values, slow_below);
    for (std::size_t rank = 0; rank < rates.size(); ++rank) devices[rank].standings[metric] = standings[rank];
  }
  return devices;
}

}  // namespace

std::string DevicePlace::describe() const {
  return fmt::format("{}, {} ({}{}{})", host, device, name, address.empty() ? "" : ", ", address);
}

bool RankedDevice::is_slow() const {
  return std::ranges::any_of(standings, &RelativeRate::is_slow);
}

std::vector<RankedDevice> measure_devices(comm::Communicator& group, const Context& context,
                                          const DeviceSettings& settings,
                                          const std::vector<DevicePlace>& places, Workspace& workspace,
                                          DeadlineTimer& limit) {
  const Problem bytes{.operation = Operation::broadcast, .dtype = DType::u8, .numel = settings.copy_bytes};
  const Workspace::Views views = workspace.views(bytes, false, group.rank(), 0);
  const auto begin = [&](const std::string& what) {
    limit.begin(what);
    group.barrier().wait_host();
  };
  DeviceRates own{};
  begin("matrix products of devices");
  product_tflop_s(context, settings.product_s);
  own[0] = product_tflop_s(context, settings.product_s);
  begin("copies within devices");
  own[1] = copy_gb_s(context, views.in, views.out, settings.measure);
  const int own_turn = turn_of(static_cast<std::size_t>(group.rank()), places);
  int last_turn = 0;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    last_turn = std::max(last_turn, turn_of(rank, places));
  for (int turn = 0; turn <= last_turn; ++turn) {
    begin("copies between devices and hosts");
    if (turn == own_turn) measure_alone(context, settings, views, own);
  }
  const std::vector<DeviceRates> rates = rates_of_all(group, own);
  limit.end();
  return judged(rates, places, settings.slow_below);
}

}  // namespace dt::bench
