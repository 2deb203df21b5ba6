#include "tensor/device/allocations.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "base/error.hpp"

using namespace dt;

TEST_CASE("an address is found in the whole of what was allocated with it") {
  std::array<std::byte, 100> memory{};
  Allocations allocations;
  allocations.add(memory.data(), 40);
  allocations.add(memory.data() + 50, 50);
  CHECK(allocations.around(memory.data() + 39).size() == 40);
  CHECK(allocations.around(memory.data() + 50).data() == memory.data() + 50);
  CHECK_THROWS_AS(allocations.around(memory.data() + 40), Error);
  CHECK(allocations.remove(memory.data()) == 40);
  CHECK_THROWS_AS(allocations.around(memory.data()), Error);
}

TEST_CASE("a watcher hears of memory before it goes, as long as it watches") {
  std::array<std::byte, 10> memory{};
  Allocations allocations;
  std::vector<std::size_t> seen;
  for (const bool watches : {true, false}) {
    allocations.add(memory.data(), 10);
    std::optional<Allocations::Watch> watch;
    if (watches) watch.emplace(allocations, [&](std::span<std::byte> gone) { seen.push_back(gone.size()); });
    allocations.remove(memory.data());
  }
  CHECK(seen == std::vector<std::size_t>{10});
}
