#include "train/start/state_change.hpp"

#include <catch2/catch.hpp>

using namespace dt;

TEST_CASE("a start tells if weights began by other factors of muP") {
  plan::Plan now;
  CHECK(train::describe_mup_change("{}", now).empty());
  CHECK(train::describe_mup_change(R"({"mup_base_width":0})", now).empty());
  CHECK(train::describe_mup_change(R"({"mup_base_width":32,"mup_base_head_dim":16})", now) ==
        "the weights began with --mup-base-width 32 and heads of 16, and this start has no --mup-base-width: "
        "the best "
        "learning rate may differ");
}

TEST_CASE("a resume tells what it changes in the kinds of state") {
  checkpoint::TrainingState then;
  then.step = 5;
  then.precision = "bf16";
  plan::Plan now;
  then.optimizer = {"adamw", now.state_kinds(), "{}"};
  CHECK(train::describe_state_changes(then, now).empty());
  now.optimizer.moments = optim::MomentType::bf16;
  now.ema = 0.5;
  CHECK(train::describe_state_changes(then, now) ==
        std::vector<std::string>{"adam_m is converted from fp32 to bf16",
                                 "adam_v is converted from fp32 to bf16",
                                 "the average of the weights (--ema 0.5) begins with the weights of step 5"});
  then.optimizer = {"adamw", now.state_kinds(), R"({"ema":0.75})"};
  CHECK(train::describe_state_changes(then, now) ==
        std::vector<std::string>{"the decay of the average of the weights was 0.75 and is now 0.5"});
  now = {};
  CHECK(train::describe_state_changes(then, now) ==
        std::vector<std::string>{"adam_m is converted from bf16 to fp32",
                                 "adam_v is converted from bf16 to fp32",
                                 "the average of the weights (--ema 0.75) is dropped"});
}
