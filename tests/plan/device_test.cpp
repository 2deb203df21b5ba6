#include <catch2/catch.hpp>

#include "plan/launch.hpp"

using namespace dt;

TEST_CASE("GPUs whose software differs are told of, with their hosts") {
  const auto seen = [](const char* host) { return comm::HostGpus{.host = host, .gpus = {}}; };
  const std::vector<comm::HostGpus> ranks{seen("a"), seen("a"), seen("b")};
  CHECK(plan::describe_software_mismatch({"CUDA 13", "CUDA 13", "CUDA 13"}, ranks).empty());
  CHECK(plan::describe_software_mismatch({"CUDA 13", "CUDA 13", "CUDA 12"}, ranks) ==
        "a has CUDA 13, and b has CUDA 12: results may not be bit-identical to those of uniform nodes");
}
