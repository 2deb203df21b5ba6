#include "base/numa.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "test_folder.hpp"

using namespace dt;

TEST_CASE("core lists are read as Linux writes them") {
  CHECK(parse_core_list("0-3,8") == std::vector{0, 1, 2, 3, 8});
  CHECK(parse_core_list("5") == std::vector{5});
  CHECK(parse_core_list("").empty());
  CHECK(parse_core_list("none").empty());
}

TEST_CASE("domains are counted that have some of the cores") {
  const dt_test::Folder folder;
  const auto nodes = folder / "";
  for (const auto& [name, cores] :
       {std::pair("node0", "0-3"), std::pair("node1", "4-7"), std::pair("node2", "")}) {
    std::filesystem::create_directory(folder / name);
    std::ofstream(folder / name / "cpulist") << cores << "\n";
  }
  std::filesystem::create_directory(folder / "power");
  CHECK(num_numa_domains({0, 1, 2}, nodes) == 1);
  CHECK(num_numa_domains({3, 4}, nodes) == 2);
  CHECK(num_numa_domains({9}, nodes) == 1);
  CHECK(num_numa_domains({0, 7}, folder / "missing") == 1);
}
