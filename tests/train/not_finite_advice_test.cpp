#include <catch2/catch.hpp>

#include "train/report/non_finite_advice.hpp"

using namespace dt;
using namespace dt::train;
using Catch::Contains;

namespace {

TrainingStanding at(std::int64_t step, std::int64_t first_step = 0) {
  TrainingStanding s;
  s.step = step;
  s.first_step = first_step;
  s.lr = 0.5;
  s.precision = DType::f32;
  return s;
}

}  // namespace

TEST_CASE(
    "weights whose loss is not finite: the advice names a checkpoint before them and a lower learning rate") {
  TrainingStanding s = at(20);
  s.older = "run/checkpoints/step-00000010.g1";
  CHECK(advise_on_weights(s) ==
        "the weights of step 20 are not saved; start again with --resume run/checkpoints/step-00000010.g1 "
        "and a "
        "lower --lr (it was 0.5) or longer --warmup-steps");
  s.checkpoint = "run/checkpoints/step-00000020.g1";
  CHECK_THAT(advise_on_weights(s),
             Contains("step-00000020.g1 is marked") &&
                 Contains("--resume run/checkpoints/step-00000010.g1 and a lower --lr"));
  CHECK_THAT(advise_on_weights(s), !Contains("--precision"));
  s.precision = DType::f16;
  CHECK_THAT(advise_on_weights(s),
             Contains("--resume run/checkpoints/step-00000020.g1 with --precision bf16 or fp32"));
  s.older = "step 15 on node-local storage";
  s.older_is_local = true;
  CHECK_THAT(advise_on_weights(s),
             Contains("--resume auto and a lower --lr") && Contains("from step 15 on node-local storage"));
}

TEST_CASE("where no older checkpoint is left, the run's origin or a new beginning is named") {
  CHECK_THAT(advise_on_weights(at(20)), Contains("--resume never and a lower --lr"));
  TrainingStanding outside = at(20, 10);
  outside.foreign_checkpoint = "/other/checkpoints/step-00000010.g1";
  CHECK_THAT(advise_on_weights(outside),
             Contains("--resume /other/checkpoints/step-00000010.g1 and a lower --lr"));
  outside.step = 10;  // the outside checkpoint has those weights
  CHECK_THAT(advise_on_weights(outside), Contains("--resume never"));
  TrainingStanding loaded = at(20, 20);
  loaded.checkpoint = "c20";
  CHECK_THAT(advise_on_weights(loaded), Contains("--resume never") && Contains("--resume c20 with those"));
  TrainingStanding initial = at(0);
  CHECK_THAT(advise_on_weights(initial), Contains("the initial weights") && !Contains("--lr"));
  initial.init_from = "model";
  CHECK_THAT(advise_on_weights(initial), Contains("the weights of model") && Contains("--init-from"));
  initial.precision = DType::f16;
  CHECK_THAT(advise_on_weights(initial), Contains("--precision bf16 or fp32"));
}

TEST_CASE(
    "gradients that are not finite: the weights are kept, and the advice changes what made the gradients") {
  TrainingStanding s = at(20);
  s.checkpoint = "c20";
  s.older = "c10";
  CHECK(advise_on_gradients(s) ==
        "the weights of step 20 are saved in c20, but the next step from them gives the same result; start "
        "again with "
        "--resume c10 and a lower --lr (it was 0.5) or longer --warmup-steps");
  s.precision = DType::f16;
  CHECK_THAT(advise_on_gradients(s),
             Contains("--resume c10 and") && Contains("--resume c20 with --precision bf16"));
  s.fixed_loss_scale = 1e6;
  CHECK(advise_on_gradients(s) ==
        "the weights of step 20 are saved in c20; lower --loss-scale (it is 1000000)");
  CHECK_THAT(advise_on_gradients(at(0)), Contains("nothing is saved"));
}
