#include "optim/gradient_scale.hpp"

#include <catch2/catch.hpp>

using namespace dt::optim;

TEST_CASE("a dynamic loss scale doubles after so many good steps in a row") {
  const LossScaleSettings settings{.fixed = {}, .initial = 8, .growth_steps = 3};
  LossScale scale = initial_loss_scale(settings);
  CHECK(scale.value == 8);
  grow(settings, scale);
  grow(settings, scale);
  CHECK(scale.value == 8);
  grow(settings, scale);
  CHECK(scale.value == 16);
  CHECK(scale.good_steps == 0);
}

TEST_CASE("a dynamic loss scale halves where gradients overflow, and counts anew") {
  const LossScaleSettings settings{.fixed = {}, .initial = 8, .growth_steps = 3};
  LossScale scale = initial_loss_scale(settings);
  grow(settings, scale);
  CHECK(back_off(settings, scale));
  CHECK(scale.value == 4);
  CHECK(scale.good_steps == 0);
}

TEST_CASE("a loss scale ends somewhere in both directions") {
  const LossScaleSettings settings{.fixed = {}, .initial = 16777216, .growth_steps = 1};
  LossScale scale = initial_loss_scale(settings);
  grow(settings, scale);
  CHECK(scale.value == 16777216);
  for (int i = 0; i < 24; ++i) CHECK(back_off(settings, scale));
  CHECK(scale.value == 1);
  CHECK_FALSE(back_off(settings, scale));
}

TEST_CASE("a fixed loss scale stays, and overflow is not its business") {
  const LossScaleSettings settings{.fixed = 1024, .initial = 8, .growth_steps = 1};
  LossScale scale = initial_loss_scale(settings);
  CHECK(scale.value == 1024);
  grow(settings, scale);
  CHECK(scale.value == 1024);
  CHECK_FALSE(back_off(settings, scale));
}
