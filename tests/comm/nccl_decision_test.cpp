#include "comm/topology/nccl_decision.hpp"

#include <catch2/catch.hpp>

#include "comm/backend.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/threads/thread_group.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

/// A library of the version that the test gives to each rank; missing if the version is empty.
class Library final : public DeviceTransportLibrary {
 public:
  explicit Library(bool takes_shared) : takes_shared_(takes_shared) { set_device_transport_library(this); }
  ~Library() override { set_device_transport_library(nullptr); }
  std::string version() override {
    if (version_here.empty()) throw environment_error("there is no NCCL");
    return version_here;
  }
  bool takes_shared_gpus() override { return takes_shared_; }
  std::unique_ptr<DeviceTransport> open(Communicator&, Device, double, DeviceGroupUse) override {
    return nullptr;
  }
  void abort(std::span<DeviceTransport* const>) noexcept override {}
  static thread_local std::string version_here;

 private:
  bool takes_shared_;
};
thread_local std::string Library::version_here;

struct Situation {
  NcclPolicy wish = NcclPolicy::where_possible;
  std::vector<int> gpu_of_rank = {0, 1, 2};  // empty: ranks are on CPUs
  std::vector<std::string> versions = {"NCCL 2.28.9", "NCCL 2.28.9", "NCCL 2.28.9"};
  bool takes_shared = false;
};

/// Returns the choice, on which all ranks agree; if it fails, the error's words.
NcclDecision choice_in(const Situation& s) {
  const Library library(s.takes_shared);
  std::vector<NcclDecision> choices(3);
  try {
    run_threads(3, [&](Communicator& world) {
      const auto rank = static_cast<std::size_t>(world.rank());
      Library::version_here = s.versions[rank];
      Console console(ConsoleSettings{});
      const Ranks ranks{world, console, {}, true, nullptr, s.wish};
      DeviceChoice devices;
      devices.gpu_of_rank = s.gpu_of_rank;
      std::vector<HostGpus> seen(3, HostGpus{.host = "n1", .gpus = {}});
      for (std::size_t i = 0; i < s.gpu_of_rank.size(); ++i) {
        devices.of_rank.push_back(Device::gpu(0));
        seen[i].gpus.push_back(
            {.name = "G", .id = std::to_string(i), .address = std::to_string(s.gpu_of_rank[i])});
      }
      choices[rank] = decide_nccl(ranks, devices, seen, 3);
      return 0;
    });
  } catch (const Error& error) {
    return {.reason = error.message()};
  }
  for (const NcclDecision& choice : choices) CHECK(choice.library == choices[0].library);
  return choices[0];
}

}  // namespace

TEST_CASE("ranks talk through NCCL where all have it and GPUs of their own") {
  CHECK(choice_in({}).library == "NCCL 2.28.9");
  CHECK(choice_in({.wish = NcclPolicy::required}).library == "NCCL 2.28.9");
  CHECK(choice_in({.wish = NcclPolicy::never}).library.empty());
  CHECK(choice_in({.gpu_of_rank = {}}).library.empty());
  CHECK(choice_in({.gpu_of_rank = {0, 1, 1}}).library.empty());
  CHECK(choice_in({.gpu_of_rank = {0, 1, 1}}).reason.empty());  // another warning covers shared GPUs
  CHECK(choice_in({.gpu_of_rank = {0, 1, 1}, .takes_shared = true}).library == "NCCL 2.28.9");
}

TEST_CASE("where a rank lacks NCCL, messages do, but where NCCL was asked for") {
  const Situation lacking{.versions = {"NCCL 2.28.9", "", "NCCL 2.28.9"}};
  CHECK(choice_in(lacking).library.empty());
  CHECK(choice_in(lacking).reason == "rank 1 on n1: there is no NCCL");
  Situation asked = lacking;
  asked.wish = NcclPolicy::required;
  CHECK_THAT(choice_in(asked).reason, Catch::Contains("--comm nccl: rank 1 on n1: there is no NCCL"));
}

TEST_CASE("NCCL is refused on CPUs, where ranks share a GPU, and in different versions") {
  CHECK_THAT(choice_in({.wish = NcclPolicy::required, .gpu_of_rank = {}}).reason,
             Catch::Contains("--comm nccl needs ranks on GPUs"));
  CHECK_THAT(choice_in({.wish = NcclPolicy::required, .gpu_of_rank = {0, 0, 1}}).reason,
             Catch::Contains("ranks 0 and 1 on n1 share the GPU") &&
                 Catch::Contains("but NCCL 2.28.9 supports one rank per GPU"));
  for (const NcclPolicy wish : {NcclPolicy::where_possible, NcclPolicy::required})
    CHECK_THAT(choice_in({.wish = wish, .versions = {"NCCL 2.28.9", "NCCL 2.28.9", "NCCL 2.29.1"}}).reason,
               Catch::Contains("rank 0 on n1 has NCCL 2.28.9, and rank 2 on n1 has NCCL 2.29.1"));
}
