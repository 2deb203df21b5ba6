#include "comm/gpus.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "comm/backend.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"

using namespace dt;
using namespace dt::comm;

namespace {

/// Of a host's GPUs, those with these ids.
SeenGpus sees(const std::string& host, const std::vector<std::string>& ids, const std::string& name = "G") {
  SeenGpus seen{.host = host, .gpus = {}};
  for (const std::string& id : ids) seen.gpus.push_back({.name = name, .id = id, .address = "1"});
  if (ids.empty()) seen.why_none = "there is no NVIDIA driver";
  return seen;
}

std::vector<int> indices(const DeviceChoice& choice) {
  std::vector<int> list;
  for (const Device device : choice.of_rank)
    list.push_back(device.kind() == DeviceKind::cuda ? device.index() : -1);
  return list;
}

std::string refusal(const std::vector<SeenGpus>& ranks, const std::string& asked = "cuda") {
  try {
    choose_devices(asked, ranks);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::environment);
    return error.message();
  }
}

}  // namespace

TEST_CASE("ranks that see all GPUs of their node take one each") {
  const DeviceChoice choice = choose_devices(
      "auto", {sees("a", {"1", "2"}), sees("a", {"1", "2"}), sees("b", {"1", "2"}), sees("b", {"1", "2"})});
  CHECK(indices(choice) == std::vector{0, 1, 0, 1});
  CHECK(choice.gpu_of_rank == std::vector{0, 1, 2, 3});
  CHECK(choice.gpus_per_node == 2);
  CHECK(choice.announcement == "computing on cuda: 4 × G");
  CHECK(choice.warnings.empty());
}

TEST_CASE("ranks to which the launcher shows a GPU each take that") {
  const DeviceChoice choice = choose_devices("cuda", {sees("a", {"1"}), sees("a", {"2"}), sees("a", {"3"})});
  CHECK(indices(choice) == std::vector{0, 0, 0});
  CHECK(choice.gpus_per_node == 3);
  CHECK(choice.warnings.empty());
}

TEST_CASE("ranks that are bound to sockets in turn take one each of what is nearest") {
  const std::vector<std::string> left = {"1", "2"}, right = {"3", "4"};
  const DeviceChoice choice =
      choose_devices("cuda", {sees("a", left), sees("a", right), sees("a", left), sees("a", right)});
  CHECK(indices(choice) == std::vector{0, 0, 1, 1});
  CHECK(choice.gpus_per_node == 4);
  CHECK(choice.warnings.empty());
}

TEST_CASE("parts of one GPU are not shared, though they have one address") {
  const DeviceChoice choice = choose_devices("cuda", {sees("a", {"part 1"}), sees("a", {"part 2"})});
  CHECK(indices(choice) == std::vector{0, 0});
  CHECK(choice.gpus_per_node == 2);
  CHECK(choice.warnings.empty());
}

TEST_CASE("ranks tell each other which GPUs they see", "[device]") {
  const test_device::Use device(1);
  const std::vector<Gpu> own = accelerator().gpus();
  run_threads(2, [&](Communicator& group) {
    for (const SeenGpus& seen : see_gpus(group, true)) {
      test::require(seen.gpus.size() == own.size(), "GPUs");
      for (std::size_t i = 0; i < own.size(); ++i)
        test::require(seen.gpus[i].name == own[i].name && seen.gpus[i].id == own[i].id && !own[i].id.empty(),
                      own[i].name);
    }
    return 0;
  });
}

TEST_CASE("ranks beyond the GPUs share them, with one warning") {
  const DeviceChoice choice = choose_devices("auto", std::vector<SeenGpus>(5, sees("a", {"1", "2"})));
  CHECK(indices(choice) == std::vector{0, 1, 0, 1, 0});
  CHECK(choice.gpu_of_rank == std::vector{0, 1, 0, 1, 0});
  CHECK(choice.gpus_per_node == 2);
  REQUIRE(choice.warnings.size() == 1);
  CHECK_THAT(choice.warnings[0], Catch::StartsWith("3 ranks share a GPU of a"));
}

TEST_CASE("GPUs of different kinds are told of") {
  const DeviceChoice choice = choose_devices("auto", {sees("a", {"1"}, "G"), sees("b", {"1"}, "H")});
  CHECK(indices(choice) == std::vector{0, 0});
  CHECK(choice.announcement == "computing on cuda: 1 × G, 1 × H");
  REQUIRE(choice.warnings.size() == 1);
  CHECK_THAT(choice.warnings[0], Catch::Contains("bits may differ"));
}

TEST_CASE("where a rank has no GPU, cuda is refused; where none has one, auto computes on CPUs") {
  const std::vector<SeenGpus> some = {sees("a", {"1"}), sees("b", {})};
  CHECK_THAT(refusal(some), Catch::StartsWith("--device cuda: rank 1 on b: there is no NVIDIA driver"));
  CHECK_THAT(refusal(some, "auto"), Catch::Contains("some ranks have GPUs, and rank 1 on b has none"));

  const DeviceChoice none = choose_devices("auto", {sees("a", {}), sees("b", {})});
  CHECK(none.warnings.empty());
  CHECK(none.announcement == "computing on the CPU: there is no NVIDIA driver");
}

TEST_CASE("cpu is cpu, whatever ranks see, and not worth a word") {
  const DeviceChoice choice = choose_devices("cpu", {sees("a", {"1"})});
  CHECK(indices(choice) == std::vector{-1});
  CHECK(choice.announcement.empty());
  CHECK(choice.warnings.empty());
}
