#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "data/test_dataset.hpp"
#include "plan/planner.hpp"

using namespace dt;
using namespace dt::plan;

namespace {

/// A job of llama-tiny over two hosts with equal numbers of ranks. Four ranks share layers.
struct TwoHosts : dt_test::Folder {
  explicit TwoHosts(int ranks_per_node)
      : launch{.num_ranks = 2 * ranks_per_node, .ranks_per_node = ranks_per_node} {
    dt_test::put(*this / "text.txt", std::string(1000, 'x'));
    dt_test::make(*this / "shards", dt_test::plain_options({*this / "text.txt"}));
    settings.tp = 4;
    settings.duration.steps = 1;
    settings.sequence_length = 64;
  }
  Plan training() const {
    const data::Mixture dataset = mixture();
    return Planner(settings, spec, &dataset, launch).plan();
  }
  Plan evaluation() const {
    const data::Mixture dataset = mixture();
    return Planner(settings, spec, &dataset, launch, Planner::Purpose::evaluation).plan();
  }

  Settings settings;
  model::ModelSpec spec = model::load_model_spec("llama-tiny");
  Launch launch;

 private:
  data::Mixture mixture() const { return data::Mixture((*this / "shards").string()); }
};

}  // namespace

TEST_CASE("layers that ranks of a host share are exchanged whole, those of several hosts in chunks by size") {
  TwoHosts within(4), across(2);
  for (TwoHosts* hosts : {&within, &across})
    hosts->settings.micro_batch = hosts->settings.global_batch = 128;  // 2 MiB of activations
  CHECK(within.training().tp_chunks == 1);
  CHECK(within.evaluation().tp_chunks == 1);
  CHECK(across.training().tp_chunks == 2);
  CHECK(across.evaluation().tp_chunks == 2);
  across.settings.micro_batch = across.settings.global_batch = 32;  // half a MiB
  CHECK(across.training().tp_chunks == 1);
  across.settings.micro_batch = across.settings.global_batch = 1024;
  CHECK(across.training().tp_chunks == 4);
}

TEST_CASE("evaluation exchanges as is asked, like training") {
  TwoHosts hosts(4);
  CHECK(hosts.training().overlap);
  CHECK(hosts.evaluation().overlap);
  hosts.settings.tp_overlap_chunks = 3;
  hosts.settings.overlap = false;
  for (const Plan& plan : {hosts.training(), hosts.evaluation()}) {
    CHECK(plan.tp_chunks == 3);
    CHECK_FALSE(plan.overlap);
  }
}

TEST_CASE("evaluation divides no state") {
  TwoHosts hosts(4);
  hosts.settings.zero = 3;
  CHECK(hosts.training().layout.zero == 3);
  CHECK(hosts.evaluation().layout.zero == 0);
  CHECK(hosts.evaluation().micro_batches_per_step == 0);
}

TEST_CASE("--adam-eps must be a normal number of the type that weights are updated in") {
  TwoHosts hosts(4);
  const auto accepts = [&](const char* precision, double eps) {
    hosts.settings.precision = value_in(precision_names, precision).value();
    hosts.settings.optimizer.eps = eps;
    try {
      hosts.training();
      return true;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return false;
    }
  };
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    CHECK(accepts(precision, 1.18e-38));
    for (const double eps : {0.0, 1.17e-38, 1e-300, 1e39, -1e-8}) CHECK_FALSE(accepts(precision, eps));
  }
  CHECK(accepts("fp64", 2.3e-308));
  CHECK_FALSE(accepts("fp64", 2.2e-308));
  CHECK_FALSE(accepts("fp64", 0));
}
