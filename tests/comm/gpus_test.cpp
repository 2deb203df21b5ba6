#include "comm/topology/gpus.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "comm/backend.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"

using namespace dt;
using namespace dt::comm;

namespace {

/// Returns a view of those of a host's GPUs that have these ids.
HostGpus sees(const std::string& host, const std::vector<std::string>& ids, const std::string& name = "G") {
  HostGpus seen{.host = host, .gpus = {}};
  for (const std::string& id : ids) seen.gpus.push_back({.name = name, .id = id, .address = "at " + id});
  if (ids.empty()) seen.unavailable_reason = "there is no NVIDIA driver";
  return seen;
}

/// Returns a view of all four GPUs of host a. The first two are near to domain 0 and the others to domain
/// 1; the rank's cores are on `domains`.
HostGpus near(const std::vector<int>& domains) {
  HostGpus seen = sees("a", {"1", "2", "3", "4"});
  seen.domains_of_gpus = {0, 0, 1, 1};
  seen.domains = domains;
  return seen;
}

HostGpus cannot_use(const std::string& host) {
  return {
      .host = host, .gpus = {}, .unavailable_reason = "too old", .remedy = "update it", .are_unusable = true};
}

std::vector<int> indices(const DeviceChoice& choice) {
  std::vector<int> list;
  for (const Device device : choice.of_rank)
    list.push_back(device.kind() == DeviceKind::cuda ? device.index() : -1);
  return list;
}

std::string refusal(const std::vector<HostGpus>& ranks, DeviceRequest asked = DeviceRequest::cuda) {
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
      DeviceRequest::automatic,
      {sees("a", {"1", "2"}), sees("a", {"1", "2"}), sees("b", {"1", "2"}), sees("b", {"1", "2"})});
  CHECK(indices(choice) == std::vector{0, 1, 0, 1});
  CHECK(choice.gpu_of_rank == std::vector{0, 1, 2, 3});
  CHECK(choice.gpus_per_node == 2);
  CHECK(choice.announcement == "computing on cuda: 4 × G");
  CHECK(choice.warnings.empty());
}

TEST_CASE("ranks to which the launcher shows a GPU each take that, with one warning") {
  const std::vector<HostGpus> of_a = {sees("a", {"1"}), sees("a", {"2"}), sees("a", {"3"})};
  const DeviceChoice choice = choose_devices(DeviceRequest::cuda, of_a);
  CHECK(indices(choice) == std::vector{0, 0, 0});
  CHECK(choice.gpus_per_node == 3);
  REQUIRE(choice.warnings.size() == 1);
  CHECK_THAT(choice.warnings[0], Catch::StartsWith("the 3 ranks on a see one GPU each: ") &&
                                     Catch::Contains("NVLink") && Catch::Contains("omit --gpu-bind"));

  std::vector<HostGpus> of_three = of_a;
  for (const char* host : {"b", "c"}) {
    for (const char* id : {"1", "2"}) of_three.push_back(sees(host, {id}));
  }
  const DeviceChoice choice_of_three = choose_devices(DeviceRequest::cuda, of_three);
  REQUIRE(choice_of_three.warnings.size() == 1);
  CHECK_THAT(choice_of_three.warnings[0],
             Catch::StartsWith("the 3 ranks on a and those on 2 more hosts see"));
}

TEST_CASE("a rank alone on its host, or with others on its one GPU, sees what it needs") {
  CHECK(choose_devices(DeviceRequest::cuda, {sees("a", {"1"}), sees("b", {"1"})}).warnings.empty());
  CHECK_THAT(choose_devices(DeviceRequest::cuda, {sees("a", {"1"}), sees("a", {"1"})}).warnings.at(0),
             Catch::StartsWith("2 ranks share a GPU"));
}

TEST_CASE("ranks take GPUs that are near to their cores") {
  // Slurm lays tasks on sockets in turn; ranks that are bound to no domain take the rest.
  CHECK(indices(choose_devices(DeviceRequest::cuda, {near({0}), near({1}), near({0}), near({1})})) ==
        std::vector{0, 2, 1, 3});
  CHECK(indices(choose_devices(DeviceRequest::cuda, {near({0, 1}), near({0, 1}), near({0}), near({0})})) ==
        std::vector{2, 3, 0, 1});
  CHECK(indices(choose_devices(DeviceRequest::cuda, std::vector<HostGpus>(4, near({})))) ==
        std::vector{0, 1, 2, 3});
}

TEST_CASE("nearness never makes ranks share a GPU while another is idle") {
  CHECK(indices(choose_devices(DeviceRequest::cuda, {near({0}), near({0}), near({0}), near({1})})) ==
        std::vector{0, 1, 3, 2});
  CHECK(indices(choose_devices(DeviceRequest::cuda, {near({1}), near({1}), near({1})})) ==
        std::vector{2, 3, 0});
  // Five ranks share four GPUs: two on each at most.
  const DeviceChoice five = choose_devices(DeviceRequest::cuda, std::vector<HostGpus>(5, near({1})));
  CHECK(indices(five) == std::vector{2, 3, 2, 3, 0});
}

TEST_CASE("a rank that sees one GPU has it, whoever sees it too") {
  CHECK(indices(choose_devices(DeviceRequest::cuda, {sees("a", {"1", "2"}), sees("a", {"1"})})) ==
        std::vector{1, 0});
}

TEST_CASE("a rank keeps the GPU that it took, though a later one that sees other GPUs must share") {
  const DeviceChoice choice = choose_devices(
      DeviceRequest::cuda, {sees("a", {"1", "2"}), sees("a", {"1", "3"}), sees("a", {"1", "3"})});
  CHECK(indices(choice) == std::vector{0, 1, 0});
  CHECK(choice.gpus_per_node == 2);
}

TEST_CASE("ranks that are bound to sockets in turn take one each of what is nearest") {
  const std::vector<std::string> left = {"1", "2"}, right = {"3", "4"};
  const DeviceChoice choice = choose_devices(
      DeviceRequest::cuda, {sees("a", left), sees("a", right), sees("a", left), sees("a", right)});
  CHECK(indices(choice) == std::vector{0, 0, 1, 1});
  CHECK(choice.gpus_per_node == 4);
  CHECK(choice.warnings.empty());
}

TEST_CASE("parts of one GPU are not shared, though they have one address") {
  std::vector<HostGpus> ranks = {sees("a", {"part 1"}), sees("a", {"part 2"})};
  for (HostGpus& rank : ranks) rank.gpus[0].address = "1";
  const DeviceChoice choice = choose_devices(DeviceRequest::cuda, ranks);
  CHECK(indices(choice) == std::vector{0, 0});
  CHECK(choice.gpus_per_node == 2);
  CHECK(choice.warnings.empty());
}

TEST_CASE("ranks tell each other which GPUs they see", "[device]") {
  const test_device::Use device(1);
  const std::vector<Gpu> own = accelerator().gpus();
  run_threads(2, [&](Communicator& group) {
    for (const HostGpus& seen : gather_gpus(group, true)) {
      test::require(seen.gpus.size() == own.size(), "GPUs");
      for (std::size_t i = 0; i < own.size(); ++i)
        test::require(seen.gpus[i].name == own[i].name && seen.gpus[i].id == own[i].id && !own[i].id.empty(),
                      own[i].name);
    }
    return 0;
  });
}

TEST_CASE("ranks beyond the GPUs share them, with one warning") {
  const DeviceChoice choice =
      choose_devices(DeviceRequest::automatic, std::vector<HostGpus>(5, sees("a", {"1", "2"})));
  CHECK(indices(choice) == std::vector{0, 1, 0, 1, 0});
  CHECK(choice.gpu_of_rank == std::vector{0, 1, 0, 1, 0});
  CHECK(choice.gpus_per_node == 2);
  REQUIRE(choice.warnings.size() == 1);
  CHECK_THAT(choice.warnings[0], Catch::StartsWith("3 ranks share a GPU of a"));
}

TEST_CASE("GPUs of different kinds are told of") {
  const DeviceChoice choice =
      choose_devices(DeviceRequest::automatic, {sees("a", {"1"}, "G"), sees("b", {"1"}, "H")});
  CHECK(indices(choice) == std::vector{0, 0});
  CHECK(choice.announcement == "computing on cuda: 1 × G, 1 × H");
  REQUIRE(choice.warnings.size() == 1);
  CHECK_THAT(choice.warnings[0], Catch::Contains("may not be bit-identical"));
}

TEST_CASE("where a rank has no GPU, cuda is refused; where none has one, auto computes on CPUs") {
  const std::vector<HostGpus> some = {sees("a", {"1"}), sees("b", {})};
  CHECK_THAT(refusal(some), Catch::StartsWith("--device cuda: rank 1 on b: there is no NVIDIA driver"));
  CHECK_THAT(refusal(some, DeviceRequest::automatic),
             Catch::Contains("some ranks have GPUs, but rank 1 on b has none"));

  const DeviceChoice none = choose_devices(DeviceRequest::automatic, {sees("a", {}), sees("b", {})});
  CHECK(none.warnings.empty());
  CHECK(none.announcement == "computing on the CPU: there is no NVIDIA driver");
}

TEST_CASE("GPUs that are there and cannot be used are an error with its remedy, unless CPUs are asked for") {
  for (const std::vector<HostGpus>& ranks :
       {std::vector{sees("a", {}), cannot_use("b")}, std::vector{sees("a", {"1"}), cannot_use("b")}}) {
    CHECK(refusal(ranks, DeviceRequest::automatic) ==
          "rank 1 on b cannot use its GPUs: too old; update it; or use --device cpu");
    CHECK(choose_devices(DeviceRequest::cpu, ranks).announcement.empty());
  }
  CHECK(refusal({cannot_use("a")}, DeviceRequest::cuda) == "--device cuda: rank 0 on a: too old; update it");
}

TEST_CASE("cpu is cpu, whatever ranks see, and not worth a word") {
  const DeviceChoice choice = choose_devices(DeviceRequest::cpu, {sees("a", {"1"})});
  CHECK(indices(choice) == std::vector{-1});
  CHECK(choice.announcement.empty());
  CHECK(choice.warnings.empty());
}
