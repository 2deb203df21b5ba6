#include <catch2/catch.hpp>
#include <cstring>

#include "device/test_device.hpp"
#include "model/layers/attention_layer.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::model;

TEST_CASE("the tables of rotary positions have the same bits on a device", "[device]") {
  const test_device::Use device(1);
  const Context context(1, Device::gpu(0));
  const ModelSpec spec = load_model_spec("llama-tiny");
  const DType dtype = GENERATE(DType::f32, DType::f64);
  const kernels::RotaryFrequencies& frequencies = spec.attention[0].rotary;
  const RotaryTables here(Device::host(), spec, frequencies, dtype),
      there(context.device(), spec, frequencies, dtype);
  for (Tensor RotaryTables::*table : {&RotaryTables::cos_PD2, &RotaryTables::sin_PD2}) {
    CHECK((there.*table).device() == context.device());
    const HostMirror copy(context, there.*table);
    REQUIRE(copy.tensor().shape() == (here.*table).shape());
    CHECK(std::memcmp(copy.tensor().raw(), (here.*table).raw(), (here.*table).bytes()) == 0);
  }
}
