// Formats tables of devices and of links.

#include <map>

#include "bench/report.hpp"

namespace dt::bench {

namespace {

constexpr const char* missing = "N/A";

std::string rate_cell(double rate, double median) {
  return fmt::format("  {:>10}", median > 0 ? fmt::format("{:.4g}", rate) : missing);
}

std::string slow_metrics(const RankedDevice& device) {
  std::string names;
  for (std::size_t metric = 0; metric < device_metrics.size(); ++metric) {
    if (!device.standings[metric].is_slow) continue;
    names += fmt::format("{}{}", names.empty() ? "SLOW: " : ", ", device_metrics[metric].name);
  }
  return names;
}

std::string device_row(const RankedDevice& device) {
  std::string row = fmt::format("{:>8}", device.rank);
  for (std::size_t metric = 0; metric < device_metrics.size(); ++metric)
    row += rate_cell(device.rates[metric], device.standings[metric].median);
  row += "  " + device.place.describe();
  if (device.is_slow()) row += "  " + slow_metrics(device);
  return row + "\n";
}

/// Returns the medians of each device name once.
std::string device_medians(const std::vector<RankedDevice>& devices) {
  std::map<std::string, const RankedDevice*> first;
  for (const RankedDevice& device : devices) first.emplace(device.place.name, &device);
  std::string lines;
  for (const auto& [name, device] : first) {
    lines += "# median";
    for (const RelativeRate& standing : device->standings)
      lines += rate_cell(standing.median, standing.median);
    lines += "  " + name + "\n";
  }
  return lines;
}

std::string link_row(const Link& link, const std::vector<DevicePlace>& places) {
  const DevicePlace &one = places[static_cast<std::size_t>(link.pair.a)],
                    &other = places[static_cast<std::size_t>(link.pair.b)];
  return fmt::format("{:>8}  {:>6}  {:>7}  {:>9.2f}  {:>10.4g}  {:>6}  {} - {}{}\n", link.pair.a, link.pair.b,
                     link.is_within_host ? "within" : "between", link.latency_s * 1e6, link.gb_s(),
                     link.wrong ? std::to_string(*link.wrong) : missing, one.host, other.host,
                     link.standing.is_slow ? "  SLOW" : "");
}

std::string link_medians(const std::vector<Link>& links) {
  std::map<bool, double> medians;
  for (const Link& link : links) medians[link.is_within_host] = link.standing.median;
  std::string lines;
  for (const auto& [is_within, gb_s] : medians)
    lines += fmt::format("# median {} hosts : {:.4g} GB/s\n", is_within ? "within" : "between", gb_s);
  return lines;
}

}  // namespace

std::string device_table(const std::vector<RankedDevice>& devices) {
  std::string names = "#   rank", units = "#       ";
  for (const DeviceMetric& metric : device_metrics) {
    names += fmt::format("  {:>10}", metric.name);
    units += fmt::format("  {:>10}", fmt::format("({})", metric.unit));
  }
  std::string table =
      "#\n# devices: products in bf16 on GPUs, in fp32 on CPUs; copies within, to and from the host\n#\n";
  table += names + "  device\n" + units + "\n";
  for (const RankedDevice& device : devices) table += device_row(device);
  return table + device_medians(devices);
}

std::string link_table(const LinkSection& section, const std::vector<DevicePlace>& places) {
  if (section.links.empty()) return "";
  std::string table = fmt::format(
      "#\n# links, backend {}: latency of {} bytes, bandwidth of {}, both ways at once\n#\n"
      "#   rank    peer    hosts    latency   bandwidth  #wrong  from - to\n"
      "#                              (us)      (GB/s)\n",
      section.backend, section.links.front().small_bytes, section.links.front().bytes);
  for (const Link& link : section.links) table += link_row(link, places);
  return table + link_medians(section.links);
}

}  // namespace dt::bench
