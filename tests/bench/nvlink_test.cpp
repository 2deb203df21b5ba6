#include "bench/nvlink.hpp"

#include <catch2/catch.hpp>

#include "bench/links.hpp"

using namespace dt::bench;

namespace {

constexpr std::int64_t large = std::int64_t{8} << 20;

/// All links of two hosts with two GPUs each, all named `name`; links within a host have the given rate.
struct Played {
  std::vector<DevicePlace> places;
  std::vector<Link> links;

  Played(const std::string& name, double gb_s, std::int64_t bytes = large) {
    for (const char* host : {"n1", "n2"}) {
      for (const char* address : {"01", "41"}) places.push_back({host, "cuda:0", name, address});
    }
    for (int a = 0; a < 4; ++a) {
      for (int b = a + 1; b < 4; ++b) {
        const bool is_within_host = a / 2 == b / 2;
        links.push_back({.pair = {a, b},
                         .is_within_host = is_within_host,
                         .bytes = bytes,
                         .seconds = static_cast<double>(bytes) * 1e-9 / (is_within_host ? gb_s : 40)});
      }
    }
  }
  std::vector<HostWithoutNvlink> hosts() const { return hosts_without_nvlink(links, places); }
};

}  // namespace

TEST_CASE("hosts whose links are all as slow as PCIe are found, though none is below the median") {
  const std::vector<HostWithoutNvlink> hosts = Played("NVIDIA H200", 41).hosts();
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].host == "n1");
  CHECK(hosts[1].host == "n2");
  for (const HostWithoutNvlink& host : hosts) {
    CHECK(host.gpu == "NVIDIA H200");
    CHECK(host.num_links == 1);
    CHECK(host.num_slow == 1);
    CHECK(host.most_gb_s == Approx(41));
  }
}

TEST_CASE("links that are faster than PCIe, of GPUs without NVLink, or of small messages are not blamed") {
  CHECK(Played("NVIDIA H200", 64).hosts().empty());
  CHECK(Played("NVIDIA H100 PCIe", 41).hosts().empty());
  CHECK(Played("NVIDIA H200", 41, large - 1).hosts().empty());
  Played of_one_gpu("NVIDIA H200", 41);
  for (DevicePlace& place : of_one_gpu.places) place.address = "01";
  CHECK(of_one_gpu.hosts().empty());
}

TEST_CASE("one link as slow as PCIe among faster ones is counted") {
  Played played("NVIDIA B200", 300);
  for (DevicePlace& place : played.places) place.host = "n1";
  played.places[1].address = "02";
  for (Link& link : played.links) link.is_within_host = true;
  for (Link& link : played.links)
    link.seconds = static_cast<double>(large) * 1e-9 / (link.pair == Pair{1, 2} ? 20 : 300);
  played.places[2].address = "81";
  played.places[3].address = "c1";
  const std::vector<HostWithoutNvlink> hosts = played.hosts();
  REQUIRE(hosts.size() == 1);
  CHECK(hosts[0].num_links == 6);
  CHECK(hosts[0].num_slow == 1);
  CHECK(hosts[0].most_gb_s == Approx(20));
}
