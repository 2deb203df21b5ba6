#include "model/layers/rotary_tables.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "device/test_device.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::model;
using kernels::RotaryScaling;
using kernels::Rotation;

namespace {

/// Returns a model of 32 positions whose frequencies are those of longrope, beyond 8 positions.
ModelSpec long_spec() {
  ModelSpec spec = load_model_spec("llama-tiny");
  spec.max_positions = 32;
  spec.head_dim = 4;
  AttentionSpec attention;
  attention.rotary.scaling = {.type = RotaryScaling::Type::longrope,
                              .original_positions = 8,
                              .short_factors = {1, 2},
                              .long_factors = {4, 5}};
  attention.rotary.query_scale = 0.1;
  spec.attention = attention;
  return spec;
}

}  // namespace

TEST_CASE("the tables of rotary positions have the same bits on a device", "[device]") {
  const test_device::Use device(1);
  const Context context(1, Device::gpu(0));
  const ModelSpec spec = long_spec();
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const RotaryTables here(Device::host(), spec, spec.attention[0], dtype),
      there(context.device(), spec, spec.attention[0], dtype);
  for (const std::int64_t length : {8, 9}) {
    const Rotation &a = *here.of_sequences(length), &b = *there.of_sequences(length);
    for (Tensor Rotation::*table : {&Rotation::cos_PF, &Rotation::sin_PF, &Rotation::query_factor_P}) {
      CHECK((b.*table).device() == context.device());
      const HostMirror copy(context, b.*table);
      REQUIRE(copy.tensor().shape() == (a.*table).shape());
      CHECK(std::memcmp(copy.tensor().raw(), (a.*table).raw(), (a.*table).bytes()) == 0);
    }
  }
}

TEST_CASE("longrope has tables for short sequences, and for sequences beyond the original positions") {
  ModelSpec spec = long_spec();
  const RotaryTables tables(Device::host(), spec, spec.attention[0], DType::f64);
  const Rotation &brief = *tables.of_sequences(8), &extended = *tables.of_sequences(9);
  CHECK(&brief == tables.of_sequences(1));
  CHECK(brief.cos_PF.shape() == Shape{8, 2});
  CHECK(extended.cos_PF.shape() == Shape{32, 2});
  CHECK(brief.cos_PF.data<double>()[2] == std::cos(1.0));
  CHECK(extended.cos_PF.data<double>()[2] == std::cos(1.0 / 4));
  spec.max_positions = 8;
  const RotaryTables one(Device::host(), spec, spec.attention[0], DType::f64);
  CHECK(one.of_sequences(8) == one.of_sequences(9));
}

TEST_CASE("layers without rotary positions have no tables") {
  ModelSpec spec = long_spec();
  AttentionSpec other = spec.attention[0];
  other.is_rotary = false;
  CHECK_FALSE(RotaryTables(Device::host(), spec, other, DType::f32).of_sequences(4));
  CHECK_FALSE(same_rotation(spec.attention[0], other));
  CHECK(same_rotation({.is_rotary = false}, other));
  spec.position = Position::learned;
  CHECK_FALSE(RotaryTables(Device::host(), spec, spec.attention[0], DType::f32).of_sequences(4));
}
