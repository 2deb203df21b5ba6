#include <catch2/catch.hpp>
#include <fstream>

#include "base/system/host.hpp"
#include "test_folder.hpp"

using namespace dt;

TEST_CASE("core lists are read as Linux writes them") {
  CHECK(parse_core_list("0-3,8") == std::vector{0, 1, 2, 3, 8});
  CHECK(parse_core_list("5") == std::vector{5});
  CHECK(parse_core_list("").empty());
  CHECK(parse_core_list("none").empty());
}

TEST_CASE("domains are those that have some of the cores") {
  const dt_test::Folder folder;
  const auto nodes = folder / "";
  for (const auto& [name, cores] : {std::pair("node0", "0-3"), std::pair("node1", "4-7"),
                                    std::pair("node2", ""), std::pair("node10", "8-9")}) {
    std::filesystem::create_directory(folder / name);
    std::ofstream(folder / name / "cpulist") << cores << "\n";
  }
  std::filesystem::create_directory(folder / "power");
  CHECK(numa_domains({0, 1, 2}, nodes) == std::vector{0});
  CHECK(numa_domains({9, 3, 4}, nodes) == std::vector{0, 1, 10});
  CHECK(numa_domains({11}, nodes).empty());
  CHECK(numa_domains({0, 7}, folder / "missing").empty());
}

TEST_CASE("a PCI device is near to the domain that the system says") {
  const dt_test::Folder folder;
  for (const auto& [address, domain] : {std::pair("0000:c1:00.0", "3"), std::pair("0000:01:00.0", "-1")}) {
    std::filesystem::create_directory(folder / address);
    std::ofstream(folder / address / "numa_node") << domain << "\n";
  }
  CHECK(numa_domain_of_pci("0000:C1:00.0", folder / "") == 3);
  CHECK(numa_domain_of_pci("0000:01:00.0", folder / "") == -1);
  CHECK(numa_domain_of_pci("0000:02:00.0", folder / "") == -1);
  CHECK(numa_domain_of_pci("", folder / "") == -1);
}
