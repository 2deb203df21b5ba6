// Checks every product of every preset, as ranks that share layers have them, against cuBLAS's alignment of
// operands.

#include "support/product_alignment.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "device/matmul.hpp"
#include "device/test_device.hpp"
#include "kernels/linear.hpp"
#include "model/units/unit.hpp"
#include "support/unit_runner.hpp"
#include "support/whole_layout.hpp"

namespace dt::test_device {

namespace {

using model::ModelSpec;
using model::TensorParallelShard;
using test::OwnedTensor;

/// Operations whose other ranks never answer; the test reads no results.
class SilentTensorParallelOps final : public model::TensorParallelOps {
 public:
  using TensorParallelOps::TensorParallelOps;
  model::PendingCollectiveHandle start_reduce(const Tensor&, const Tensor&) const override { return {}; }
  model::PendingCollectiveHandle start_all_gather_rows(const Tensor&, const Tensor&) const override {
    return {};
  }
  model::PendingCollectiveHandle start_all_gather(const Tensor&, const Tensor&) const override { return {}; }
};

/// A rank's shard of a model with one block, and the path of a micro-batch through it.
class Shared {
 public:
  Shared(const ModelSpec& spec, const TensorParallelShard& shard, DType dtype)
      : ops_(shard),
        own_(own(spec, shard)),
        units_(model::make_units(gpu, spec, own_, dtype, model::SavedActivations::all, ops_)),
        dtype_(dtype) {
    for (const model::GroupSpec& group : own_.groups()) {
      const model::FlatLayout flat = dt_test::whole_layout(own_, group);
      weights_.push_back(add(dtype, {flat.numel}));
      grads_.push_back(add(statistics_dtype(dtype), {flat.numel}));
    }
  }

  /// Runs the micro-batch as in training.
  void run(const Context& context, std::int64_t batch, std::int64_t sequence) {
    model::MicroBatch m;
    m.batch = batch;
    m.sequence = sequence;
    m.tokens_R = m.labels_R = m.positions_R = add(DType::i32, {batch * sequence});
    Tensor x, dx;
    for (const auto& unit : units_) {
      const auto memory = [&](std::size_t bytes) {
        return add(DType::u8, {static_cast<std::int64_t>(bytes)}).span_bytes();
      };
      const auto saved = memory(unit->saved_bytes(batch, sequence)),
                 backward_handoff = memory(unit->backward_handoff_bytes(gpu, batch, sequence));
      const bool is_head = unit->has_gradients_in_forward();
      const auto weights = of(*unit, weights_), grads = of(*unit, grads_);
      const Tensor y = add(unit->output_dtype(), unit->output_shape(batch, sequence));
      unit->forward(context, m, weights, x, y, saved, is_head ? grads : std::vector<Tensor>());
      unit->backward(context, m, weights, x, is_head ? Tensor() : y, dx, grads, saved, backward_handoff);
      x = y;
      dx = add(dtype_, y.shape());
    }
  }

 private:
  static constexpr Device gpu = Device::gpu(0);

  static model::ParameterTable own(const ModelSpec& spec, const TensorParallelShard& shard) {
    ModelSpec own = shard_spec(spec, shard);
    own.vocabulary = shard.vocabulary_range(spec).count;
    return model::ParameterTable(own);
  }
  Tensor add(DType dtype, Shape shape) { return owned_.emplace_back(dtype, std::move(shape), gpu).tensor; }
  /// Returns the unit's parameters in its order, as views of the groups' flat buffers.
  std::vector<Tensor> of(const model::Unit& unit, const std::vector<Tensor>& flats) const {
    std::vector<Tensor> tensors;
    for (const int param : unit.spec().params) {
      const auto g = static_cast<std::size_t>(own_.group_of(param));
      const model::GroupSpec& group = own_.groups()[g];
      const auto place = std::ranges::find(group.params, param) - group.params.begin();
      const Shape& shape = own_.params()[static_cast<std::size_t>(param)].shape;
      const std::int64_t offset = dt_test::whole_layout(own_, group).offsets[static_cast<std::size_t>(place)];
      tensors.push_back(flats[g].flat(offset, shape.numel()).reshaped(shape));
    }
    return tensors;
  }

  SilentTensorParallelOps ops_;
  model::ParameterTable own_;
  std::vector<std::unique_ptr<model::Unit>> units_;
  DType dtype_;
  std::vector<OwnedTensor> owned_;
  std::vector<Tensor> weights_, grads_;
};

struct Seen {
  int products = 0, rests = 0;
  std::set<std::string> broken;
};

Seen products_of(const ModelSpec& spec, const TensorParallelShard& shard, DType dtype) {
  Use device(1);
  device.skip_work();
  const Context context(1, Device::gpu(0));
  Seen seen;
  observe_products([&](const kernels::cuda::Matmul& p) {
    ++seen.products;
    // A product of the last features of a weight's gradient is too small to matter
    // (weight_gradient_matmuls).
    const bool is_rest = p.left.transposed && kernels::round_down_to_vec(dtype, p.output_MN.dim(0)) == 0;
    seen.rests += is_rest ? 1 : 0;
    const std::string broken = is_rest ? "" : broken_alignment(p);
    if (!broken.empty())
      seen.broken.insert(fmt::format("{} · {}: {}", p.left.stored.shape().to_string(),
                                     p.right.stored.shape().to_string(), broken));
  });
  Shared(spec, shard, dtype).run(context, 3, 40);
  observe_products({});
  return seen;
}

bool may_share(const ModelSpec& spec, int tp) {
  const std::int64_t heads = spec.key_value_heads;
  return spec.query_heads % tp == 0 && (heads % tp == 0 || tp % heads == 0) &&
         kernels::round_down_to_vec(DType::bf16, spec.mlp_hidden / tp) == spec.mlp_hidden / tp;
}

}  // namespace

TEST_CASE("every product of every preset is aligned as cuBLAS wants it, however many ranks share layers",
          "[test-device][slow]") {
  int cases = 0;
  for (const std::string& name : model::preset_names()) {
    ModelSpec spec = model::load_model_spec(name);
    spec.layers = 1;
    spec.attention = model::AttentionSpec(spec.attention[0]);  // the first layer's
    for (const int tp : {1, 2, 4, 5, 8, 16}) {
      if (!may_share(spec, tp)) continue;
      for (const DType dtype : {DType::bf16, DType::f32}) {
        for (const int rank : {0, tp - 1}) {
          INFO(name << ", " << dtype_name(dtype) << ", rank " << rank << " of " << tp);
          const TensorParallelShard shard{.rank = rank, .size = tp};
          const Seen seen = products_of(spec, shard, dtype);
          CHECK(seen.broken == std::set<std::string>());
          CHECK(seen.products >= 3 * 5);  // qkv, output, up, down, head
          const std::int64_t columns = shard.vocabulary_range(spec).count;
          CHECK((seen.rests > 0) == (kernels::round_down_to_vec(dtype, columns) != columns));
          ++cases;
        }
      }
    }
  }
  CHECK(cases > 80);
}

TEST_CASE("what cuBLAS asks of operands is broken by name", "[test-device]") {
  std::vector<double> memory(1024);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return Tensor(memory.data(), DType::bf16, {rows, columns}, Device::gpu(0));
  };
  const Tensor x = matrix(3, 8), w = matrix(9, 8), dw = matrix(9, 8), y = matrix(3, 9);
  CHECK(broken_alignment({{x}, {w, true}, {}, {}, y}) == "m, ldc");
  CHECK(broken_alignment({{x}, {w, true}, {}, {}, matrix(3, 16).first_columns(9)}) == "m");
  CHECK(broken_alignment({{y}, {w}, {}, {}, x}) == "op_B == N ? k : n, ldb");
  CHECK(broken_alignment({{y, true}, {x}, {}, dw, dw}) == "op_B == N ? k : n, ldb");
  CHECK(broken_alignment({{x}, {matrix(8, 8), true}, {}, {}, matrix(3, 8)}).empty());
  const Tensor apart(reinterpret_cast<std::byte*>(memory.data()) + 2, DType::bf16, {3, 8}, Device::gpu(0));
  CHECK(broken_alignment({{apart}, {matrix(8, 8), true}, {}, {}, matrix(3, 8)}) == "B");
}

}  // namespace dt::test_device
