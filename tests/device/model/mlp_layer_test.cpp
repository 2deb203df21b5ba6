#include "model/layers/mlp_layer.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "device/matmul.hpp"
#include "device/test_device.hpp"
#include "model/units/unit.hpp"
#include "tensor/buffer.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::model {
namespace {

constexpr std::int64_t R = 2500, C = 8, F = 16;

ModelSpec narrow(const char* preset) {
  ModelSpec spec = load_model_spec(preset);
  spec.hidden = C, spec.mlp_hidden = F;
  return spec;
}

/// Zeroed tensors on the device of the context.
class Memory {
 public:
  explicit Memory(Device device) : device_(device) {}
  Tensor tensor(Shape shape) {
    buffers_.emplace_back(device_, static_cast<std::size_t>(shape.numel()) * sizeof(float));
    return Tensor(buffers_.back(), DType::f32, std::move(shape));
  }

 private:
  Device device_;
  std::vector<Buffer> buffers_;
};

std::vector<Tensor> weights_of(const ModelSpec& spec, Memory& memory) {
  const bool is_gated = spec.feed_forward[0] == &swiglu_mlp();
  std::vector<Tensor> weights;
  if (is_gated) {
    const Tensor both = memory.tensor({2 * F, C});  // gate and up are adjacent
    weights = {both.rows(0, F), both.rows(F, 2 * F)};
  } else {
    weights = {memory.tensor({F, C}), memory.tensor({F})};
  }
  weights.push_back(memory.tensor({C, F}));
  if (!is_gated) weights.push_back(memory.tensor({C}));
  return weights;
}

MlpLayer::Saved saved_of(const ModelSpec& spec, Memory& memory, std::int64_t rows) {
  return {memory.tensor({rows, spec.feed_forward[0] == &swiglu_mlp() ? 2 * F : F}), memory.tensor({rows, F})};
}

/// Runs the layer's backward over R rows.
void run_backward(const Context& context, const ModelSpec& spec) {
  const auto layer = spec.feed_forward[0]->make(spec, DType::f32, single_rank_ops());
  Memory memory(context.device());
  const std::vector<Tensor> weights = weights_of(spec, memory);
  const MlpLayer::Saved saved = saved_of(spec, memory, R);
  AsyncAllGather dy_RC(memory.tensor({R, C}));
  layer->backward_input(context, {}, weights, dy_RC, memory.tensor({R, C}), saved, {});
  if (context.device() != Device::host()) accelerator().synchronize(context.stream());
}

/// One of two ranks that exchange rows in three chunks. The other rank never answers.
class ChunkedOps final : public TensorParallelOps {
 public:
  explicit ChunkedOps(bool divides_rows)
      : TensorParallelOps({.size = 2, .sequence_parallel = divides_rows}) {}
  PendingCollectiveHandle start_reduce(const Tensor&, const Tensor&) const override { return {}; }
  PendingCollectiveHandle start_all_gather_rows(const Tensor&, const Tensor&) const override { return {}; }
  int num_chunks() const override { return 3; }
};

/// The first row of a product's result in the tensor of all rows, and the number of its rows.
using ProductRows = std::pair<std::int64_t, std::int64_t>;

/// Runs the layer's forward, or computes only what it saves, and returns the products that make `up`.
std::vector<ProductRows> products_of_up(const ModelSpec& spec, const TensorParallelOps& ops, bool makes_y) {
  constexpr std::int64_t rows = 46;
  const std::int64_t local_rows = ops.shard().local_rows(rows);
  const test_device::Use device(1);
  const Context context(1, Device::gpu(0));
  const auto layer = spec.feed_forward[0]->make(spec, DType::f32, ops);
  Memory memory(context.device());
  const std::vector<Tensor> weights = weights_of(spec, memory);
  const MlpLayer::Saved saved = saved_of(spec, memory, rows);
  std::vector<ProductRows> products;
  test_device::observe_products([&](const kernels::cuda::Matmul& product) {
    const auto bytes = product.output_MN.raw() - saved[MlpLayer::up_RG].raw();
    const auto row_bytes = static_cast<std::int64_t>(saved[MlpLayer::up_RG].bytes()) / rows;
    if (bytes >= 0 && bytes < rows * row_bytes)
      products.emplace_back(bytes / row_bytes, product.output_MN.dim(0));
  });
  layer->forward(context, {}, weights, memory.tensor({local_rows, C}), memory.tensor({local_rows, C}),
                 makes_y ? memory.tensor({local_rows, C}) : Tensor(), saved);
  test_device::observe_products({});
  accelerator().synchronize(context.stream());
  return products;
}

TEST_CASE("what ranks that share an MLP make again they multiply in the products of the forward",
          "[test-device]") {
  for (const char* preset : {"gpt2-124m", "llama-tiny"}) {
    for (const bool divides_rows : {false, true}) {
      INFO(preset << (divides_rows ? ", rows divided" : ""));
      const ChunkedOps ops(divides_rows);
      const std::vector<ProductRows> products = products_of_up(narrow(preset), ops, true);
      CHECK(products.size() == (divides_rows ? 6 : 3));
      CHECK(products_of_up(narrow(preset), ops, false) == products);
    }
  }
}

TEST_CASE(
    "a GPU makes the gradient of the MLP's hidden features in one piece, the host in pieces for its cache",
    "[test-device]") {
  for (const char* preset : {"gpt2-124m", "llama-tiny"}) {
    INFO(preset);
    const ModelSpec spec = narrow(preset);
    const auto bytes = [&](const Context& context) {
      run_backward(context, spec);
      return context.scratch().peak_bytes();
    };
    Context host(1, Device::host());
    host.set_reference_only(true);  // reference products take no scratch memory of their own
    CHECK(bytes(host) == 1024 * F * sizeof(float));
    const test_device::Use device(1);
    const Context context(1, Device::gpu(0));
    CHECK(bytes(context) == R * F * sizeof(float));
    CHECK(device.counts().kernels == 3);  // two products, and the activation's gradient
  }
}

TEST_CASE("a block's scratch memory follows the rows that the MLP's backward takes at a time") {
  ModelSpec spec = narrow("llama-tiny");
  spec.mlp_hidden = 64 * F;  // no other part of a block takes as much
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto units = make_units(Device::host(), spec, ParameterTable(spec), dtype);
    const auto bytes = [&](Device device, std::int64_t rows) {
      return units[1]->scratch_bytes(device, rows / 16, 16);
    };
    const std::size_t gradient = C * dtype_bytes(dtype), hidden = 64 * F * dtype_bytes(dtype);
    CHECK(bytes(Device::host(), 4096) == 4096 * gradient + 1024 * hidden);
    CHECK(bytes(Device::gpu(0), 4096) == 4096 * (gradient + hidden));
    CHECK(bytes(Device::gpu(0), 512) == bytes(Device::host(), 512));
  }
}

}  // namespace
}  // namespace dt::model
