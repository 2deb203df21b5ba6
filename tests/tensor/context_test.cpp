#include "tensor/context.hpp"

#include <catch2/catch.hpp>

using namespace dt;

TEST_CASE("a context carries threads, device and scratch memory") {
  Context context(3, Device::host());
  CHECK(context.threads() == 3);
  CHECK(context.device() == Device::host());
  CHECK_FALSE(context.reference_only());
  context.set_reference_only(true);
  CHECK(context.reference_only());
  CHECK(context.arithmetic() == Arithmetic::fp32);
  context.set_arithmetic(Arithmetic::bf16);
  CHECK(context.arithmetic() == Arithmetic::bf16);
  const Context& shared = context;
  const Arena::Scope scope(shared.scratch());
  CHECK(shared.scratch().allocate(DType::f32, {2}));
}
