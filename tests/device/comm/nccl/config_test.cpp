// Limits on what groups of a use may hold of a GPU, as NCCL applies them.

#include "comm/nccl/library.hpp"
#include "device/comm/nccl/streams.hpp"
#include "device/nccl/stand_in.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

TEST_CASE("a field that is newer than the library is told of") {
  CHECK(nccl::ignored_fields(21304) == "blocking, maxCTAs, splitShare");
  CHECK(nccl::ignored_fields(21602) == "maxCTAs, splitShare");
  CHECK(nccl::ignored_fields(21903).empty());
  CHECK_THAT(nccl::limits(21602, ""), Catch::Contains("this NCCL version ignores the settings maxCTAs"));
}

TEST_CASE("NCCL_MAX_CTAS has the last word, and is told") {
  CHECK(nccl::max_ctas(DeviceGroupUse::pipeline, "") == 2);
  CHECK(nccl::max_ctas(DeviceGroupUse::overlapping, "") == 16);
  CHECK(nccl::max_ctas(DeviceGroupUse::world, "") == 0);
  CHECK(nccl::max_ctas(DeviceGroupUse::pipeline, "8") == 8);
  CHECK(nccl::max_ctas(DeviceGroupUse::overlapping, "1000") == 64);
  CHECK(nccl::max_ctas(DeviceGroupUse::overlapping, "-3") == 16);  // not a number that NCCL takes
  CHECK(nccl::limits(22809, "") == "pipeline channels use 2 CTAs, overlapped reductions and gathers 16 CTAs");
  CHECK(nccl::limits(22809, "1") ==
        "pipeline channels use 1 CTA, overlapped reductions and gathers 1 CTA (NCCL_MAX_CTAS)");
}

TEST_CASE("a group that is split off has its own use's CTAs, not the whole's", "[test-device]") {
  const auto held = [](std::optional<DeviceGroupUse> use) {
    test_device::take_most_nccl_ctas();
    run_on_streams(1, 2, ReduceOrder::tree, [&](Communicator& world, Computing& computing) {
      const auto subgroup = use ? world.split(0, world.rank(), "part", *use) : nullptr;
      const Tensor data = computing.unwritten(DType::f32, 100);
      world.barrier().wait_host();
      test_device::take_most_nccl_ctas();  // discards the CTAs of connecting the ranks
      world.barrier().wait_host();
      (use ? *subgroup : world).all_reduce(data, data).wait_host();
      world.barrier().wait_host();
    });
    return test_device::take_most_nccl_ctas();
  };
  CHECK(held(std::nullopt) == test_device::unlimited_ctas);
  CHECK(held(DeviceGroupUse::world) == test_device::unlimited_ctas);
  CHECK(held(DeviceGroupUse::overlapping) == max_ctas(DeviceGroupUse::overlapping));
  CHECK(held(DeviceGroupUse::pipeline) == max_ctas(DeviceGroupUse::pipeline));
}
