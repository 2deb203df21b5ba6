#include "cmd/dt-allreduce-bench/verdict.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text/text.hpp"
#include "bench/links.hpp"
#include "bench/nvlink.hpp"
#include "comm/exchange.hpp"

namespace dt::allreduce_bench {

namespace {

/// Limit on warnings; the table shows the rest.
constexpr std::size_t most_warnings = 20;

std::string describe_rank(int rank, const std::vector<bench::DevicePlace>& places) {
  return fmt::format("rank {} on {}", rank, places[static_cast<std::size_t>(rank)].describe());
}

void add_devices(const bench::Results& results, std::vector<std::string>& complaints) {
  for (const bench::RankedDevice& device : results.devices) {
    for (std::size_t metric = 0; metric < device.rates.size(); ++metric) {
      if (!device.standings[metric].is_slow) continue;
      const auto& [name, key, unit] = bench::device_metrics[metric];
      complaints.push_back(fmt::format("{}: slow {}: {:.4g} {}, the median is {:.4g}",
                                       describe_rank(device.rank, results.places), name, device.rates[metric],
                                       unit, device.standings[metric].median));
    }
  }
}

const char* link_kind(const bench::Link& link) {
  return link.is_within_host ? "within hosts" : "between hosts";
}

/// The number of a rank's links of a kind, and how many of them are slow.
struct LinkCounts {
  std::size_t num_links = 0, num_slow = 0;
  bool are_all_slow() const { return num_links > 1 && num_slow == num_links; }
};
using LinkCountsByRank = std::map<std::pair<int, bool>, LinkCounts>;

LinkCountsByRank count_slow_links(const bench::LinkSection& section) {
  LinkCountsByRank ends;
  for (const bench::Link& link : section.links) {
    for (const int rank : {link.pair.a, link.pair.b}) {
      LinkCounts& its = ends[{rank, link.is_within_host}];
      ++its.num_links;
      its.num_slow += link.standing.is_slow ? 1 : 0;
    }
  }
  return ends;
}

/// Returns the fastest of a rank's links of a kind, all of which are slow.
const bench::Link& fastest_of(const bench::LinkSection& section, int rank, bool is_within_host) {
  const auto rate = [&](const bench::Link& link) {
    const bool is_its = link.pair.a == rank || link.pair.b == rank;
    return is_its && link.is_within_host == is_within_host ? link.gb_s() : 0;
  };
  return *std::ranges::max_element(section.links, {}, rate);
}

void add_links(const bench::LinkSection& section, const std::vector<bench::DevicePlace>& places,
               std::vector<std::string>& complaints) {
  const LinkCountsByRank ends = count_slow_links(section);
  for (const auto& [end, its] : ends) {
    if (!its.are_all_slow()) continue;
    const bench::Link& link = fastest_of(section, end.first, end.second);
    complaints.push_back(
        fmt::format("{}: all its {} links {} by {} are slow: {:.4g} GB/s at most, the median is {:.4g}",
                    describe_rank(end.first, places), its.num_links, link_kind(link), section.backend,
                    link.gb_s(), link.standing.median));
  }
  for (const bench::Link& link : section.links) {
    const auto is_named = [&](int rank) { return ends.at({rank, link.is_within_host}).are_all_slow(); };
    if (!link.standing.is_slow || is_named(link.pair.a) || is_named(link.pair.b)) continue;
    complaints.push_back(
        fmt::format("slow link by {}: {:.4g} GB/s between {} and {}, the median {} is {:.4g}",
                    section.backend, link.gb_s(), describe_rank(link.pair.a, places),
                    describe_rank(link.pair.b, places), link_kind(link), link.standing.median));
  }
}

void add_hosts_without_nvlink(const bench::LinkSection& section,
                              const std::vector<bench::DevicePlace>& places,
                              std::vector<std::string>& complaints) {
  for (const bench::HostWithoutNvlink& host : bench::hosts_without_nvlink(section.links, places)) {
    complaints.push_back(fmt::format(
        "{} has {} with NVLink, but {} of {} links within it by {} are no faster than PCIe: at most {:.4g} "
        "GB/s; check the connections with NCCL_DEBUG=INFO and nvidia-smi nvlink --status, and use srun "
        "without --gpu-bind and --gpus-per-task, so that each rank sees all GPUs",
        host.host, host.gpu, host.num_slow, host.num_links, section.backend, host.most_gb_s));
  }
}

/// Returns the slower time of out of place and in place.
double slowest_s(const bench::Row& row) {
  return std::max(row.out_of_place.slowest_s, row.in_place ? row.in_place->slowest_s : 0);
}

/// Collects complaints about values beyond the options' bounds.
class Bounds {
 public:
  Bounds(const Options& options, std::vector<std::string>& complaints)
      : options_(options), complaints_(complaints) {}

  void check_bandwidth(const std::string& what, double gb_s) {
    if (!options_.min_bandwidth || gb_s >= *options_.min_bandwidth) return;
    complaints_.push_back(
        fmt::format("{}: {:.4g} GB/s, below --min-bandwidth {}", what, gb_s, *options_.min_bandwidth));
  }
  void check_latency(const std::string& what, double seconds) {
    if (!options_.max_latency || seconds * 1e6 <= *options_.max_latency) return;
    complaints_.push_back(
        fmt::format("{}: {:.4g} us, above --max-latency {}", what, seconds * 1e6, *options_.max_latency));
  }

 private:
  const Options& options_;
  std::vector<std::string>& complaints_;
};

void add_bounds(const bench::Section& section, Bounds& bounds) {
  const auto name = [&](const bench::Row& row) {
    return fmt::format("{} of {} bytes by {}", name_of(section.operation), row.problem.bytes(),
                       section.backend);
  };
  const bench::Row &first = section.rows.front(), &last = section.rows.back();
  bounds.check_latency(name(first), slowest_s(first));
  if (bench::traits(section.operation).has_data())
    bounds.check_bandwidth(name(last), last.bus_bandwidth({.slowest_s = slowest_s(last)}));
}

void add_bounds(const bench::LinkSection& section, const std::vector<bench::DevicePlace>& places,
                Bounds& bounds) {
  for (const bench::Link& link : section.links) {
    const std::string name =
        fmt::format("link by {} between {} and {}", section.backend, describe_rank(link.pair.a, places),
                    describe_rank(link.pair.b, places));
    bounds.check_latency(name, link.latency_s);
    bounds.check_bandwidth(name, link.gb_s());
  }
}

void check_elements(const bench::Results& results) {
  std::string where;
  const auto add = [&](std::string_view what, const std::string& backend, std::int64_t wrong) {
    if (wrong > 0) where += fmt::format("{}{} by {}: {}", where.empty() ? "" : ", ", what, backend, wrong);
  };
  for (const bench::LinkSection& section : results.links) {
    std::int64_t wrong = 0;
    for (const bench::Link& link : section.links) wrong += link.wrong.value_or(0);
    add("links", section.backend, wrong);
  }
  for (const bench::Section& section : results.sections)
    add(name_of(section.operation), section.backend, section.wrong());
  if (where.empty()) return;
  throw comm::SharedError(ErrorKind::verification, "wrong elements in the results: " + where,
                          "see the column #wrong");
}

}  // namespace

std::vector<std::string> find_failures(const Options& options, const bench::Results& results) {
  std::vector<std::string> all;
  Bounds bounds(options, all);
  add_devices(results, all);
  for (const bench::LinkSection& section : results.links) {
    add_links(section, results.places, all);
    if (options.slow_below > 0) add_hosts_without_nvlink(section, results.places, all);
    add_bounds(section, results.places, bounds);
  }
  for (const bench::Section& section : results.sections) add_bounds(section, bounds);
  return all;
}

void check_results(const Options& options, const bench::Results& results, Console& console) {
  const std::vector<std::string> all = find_failures(options, results);
  for (std::size_t i = 0; i < std::min(all.size(), most_warnings); ++i) console.warn("{}", all[i]);
  check_elements(results);
  if (all.empty()) return;
  throw comm::SharedError(ErrorKind::verification,
                          fmt::format("{} of the devices, links and operations {} too slow", all.size(),
                                      plural_form(all.size(), "is", "are")),
                          all.size() > most_warnings
                              ? fmt::format("the warnings above name the first {}", most_warnings)
                              : "see the warnings above");
}

}  // namespace dt::allreduce_bench
