#pragma once
// Runs a decoder's units on one rank over buffers that it owns. Tests compare other ways of running
// units with it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "model/initialise.hpp"
#include "model/units/unit.hpp"
#include "support/whole_layout.hpp"
#include "tensor/buffer.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::test {

/// A buffer and a tensor over it.
struct OwnedTensor {
  OwnedTensor() = default;
  OwnedTensor(DType dtype, Shape shape, Device device = Device::host())
      : buffer(device, static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype)),
        tensor(buffer, dtype, std::move(shape)) {}
  Buffer buffer;
  Tensor tensor;
};

/// Returns the elements of an f64, f32 or bf16 tensor as doubles.
inline std::vector<double> to_doubles(const Tensor& tensor) {
  if (tensor.dtype() == DType::f64) return {tensor.span<double>().begin(), tensor.span<double>().end()};
  if (tensor.dtype() == DType::f32) return {tensor.span<float>().begin(), tensor.span<float>().end()};
  std::vector<double> values;
  for (const BFloat16 v : tensor.span<BFloat16>()) values.push_back(static_cast<float>(v));
  return values;
}
inline void from_doubles(const std::vector<double>& values, const Tensor& tensor) {
  DT_CHECK(static_cast<std::int64_t>(values.size()) == tensor.numel(), "{} values for {}", values.size(),
           tensor.shape().to_string());
  if (tensor.dtype() == DType::f64)
    std::copy(values.begin(), values.end(), tensor.data<double>());
  else if (tensor.dtype() == DType::f32)
    std::transform(values.begin(), values.end(), tensor.data<float>(),
                   [](double v) { return static_cast<float>(v); });
  else
    std::transform(values.begin(), values.end(), tensor.data<BFloat16>(),
                   [](double v) { return BFloat16(static_cast<float>(v)); });
}

/// Sequences of tokens with their targets, from which micro-batches are cut.
struct Batch {
  std::int64_t sequences = 0;
  std::int64_t length = 0;
  std::vector<std::int32_t> tokens, labels, positions;

  Batch(std::int64_t sequences_, std::int64_t length_, std::vector<std::int32_t> tokens_,
        std::vector<std::int32_t> labels_)
      : sequences(sequences_), length(length_), tokens(std::move(tokens_)), labels(std::move(labels_)) {
    for (std::int64_t i = 0; i < sequences * length; ++i)
      positions.push_back(static_cast<std::int32_t>(i % length));
  }
  /// Returns arbitrary tokens. Every fifth position has no target.
  static Batch arbitrary(const model::ModelSpec& spec, std::int64_t sequences, std::int64_t length) {
    std::vector<std::int32_t> tokens, labels;
    std::uint32_t state = 12345;
    const auto next = [&] {
      state = state * 1664525u + 1013904223u;
      return static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(spec.vocabulary));
    };
    for (std::int64_t i = 0; i < sequences * length; ++i) {
      tokens.push_back(next());
      labels.push_back(i % 5 == 4 ? -1 : next());
    }
    return {sequences, length, std::move(tokens), std::move(labels)};
  }

  std::int64_t targets() const {
    return std::count_if(labels.begin(), labels.end(), [](std::int32_t label) { return label >= 0; });
  }
  /// Returns sequences [begin, end). Their gradient is that of the mean over the whole batch's
  /// targets.
  model::MicroBatch micro_batch(std::int64_t begin, std::int64_t end) {
    const auto view = [&](std::vector<std::int32_t>& values) {
      return host_tensor(values).flat(begin * length, (end - begin) * length);
    };
    model::MicroBatch m;
    m.batch = end - begin;
    m.sequence = length;
    m.tokens_R = view(tokens);
    m.labels_R = view(labels);
    m.positions_R = view(positions);
    m.loss_scale = 1.0 / static_cast<double>(targets());
    return m;
  }
  model::MicroBatch whole() { return micro_batch(0, sequences); }
};

/// Weights, gradients and units of a whole decoder. Both holders of a tied table share its one gradient.
class Decoder {
 public:
  Decoder(const model::ModelSpec& spec, DType dtype,
          model::SavedActivations saved_activations = model::SavedActivations::all,
          Device device = Device::host())
      : spec_(spec),
        table_(spec),
        dtype_(dtype),
        device_(device),
        units_(model::make_units(device, spec, table_, dtype, saved_activations)),
        weights_(table_.params().size()),
        grads_(table_.params().size()) {
    for (const model::GroupSpec& group : table_.groups()) {
      const model::FlatLayout flat = dt_test::whole_layout(table_, group);
      for (auto* tensors : {&weights_, &grads_}) {
        buffers_.emplace_back(tensors == &weights_ ? dtype : statistics_dtype(dtype), Shape{flat.numel},
                              device);
        for (std::size_t i = 0; i < group.params.size(); ++i) {
          const Shape& shape = table_.params()[static_cast<std::size_t>(group.params[i])].shape;
          (*tensors)[static_cast<std::size_t>(group.params[i])] =
              buffers_.back().tensor.flat(flat.offsets[i], shape.numel()).reshaped(shape);
        }
      }
    }
  }

  void initialise(std::uint64_t seed) {
    for (std::size_t p = 0; p < weights_.size(); ++p) {
      const model::ParamSpec& param = table_.params()[p];
      model::initialise(param, seed, Piece::whole(param.shape), weights_[p], 1);
    }
  }
  void zero_grads() {
    for (const Tensor& grad : grads_) std::fill_n(grad.raw(), grad.bytes(), std::byte{0});
  }

  const model::ModelSpec& spec() const { return spec_; }
  const model::ParameterTable& table() const { return table_; }
  const std::vector<std::unique_ptr<model::Unit>>& units() const { return units_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  const Tensor& weight(int param) const { return weights_[static_cast<std::size_t>(param)]; }
  const Tensor& grad(int param) const { return grads_[static_cast<std::size_t>(param)]; }
  std::vector<Tensor> unit_weights(std::size_t unit) const { return of_unit(unit, weights_); }
  std::vector<Tensor> unit_grads(std::size_t unit) const { return of_unit(unit, grads_); }

 private:
  std::vector<Tensor> of_unit(std::size_t unit, const std::vector<Tensor>& tensors) const {
    std::vector<Tensor> own;
    for (int p : table_.units()[unit].params) own.push_back(tensors[static_cast<std::size_t>(p)]);
    return own;
  }

  model::ModelSpec spec_;
  model::ParameterTable table_;
  DType dtype_;
  Device device_;
  std::vector<std::unique_ptr<model::Unit>> units_;
  std::vector<OwnedTensor> buffers_;
  std::vector<Tensor> weights_, grads_;
};

/// The places of the gradients of units' outputs: memory of their own, or over the outputs.
enum class OutputGradients { apart, over_outputs };

/// One micro-batch on its way through a decoder. Several may be under way at once, with their steps
/// in any order. Memory starts out as NaN, so that a unit that reads unwritten memory is caught.
class Flight {
 public:
  Flight(const Decoder& decoder, const model::MicroBatch& micro_batch,
         OutputGradients gradients = OutputGradients::apart)
      : decoder_(decoder), micro_batch_(micro_batch), outputs_(num_units()), grads_(num_units()) {
    for (std::size_t u = 0; u < num_units(); ++u) {
      const model::Unit& unit = *decoder.units()[u];
      const Shape shape = unit.output_shape(micro_batch.batch, micro_batch.sequence);
      outputs_[u] = OwnedTensor(unit.output_dtype(), shape, device());
      const bool is_apart = gradients == OutputGradients::apart;
      if (u + 1 < num_units() && is_apart) grads_[u] = OwnedTensor(unit.output_dtype(), shape, device());
      if (u + 1 < num_units() && !is_apart) grads_[u].tensor = outputs_[u].tensor;
      saved_.emplace_back(device(), unit.saved_bytes(micro_batch.batch, micro_batch.sequence));
      backward_handoffs_.emplace_back(
          device(), unit.backward_handoff_bytes(device(), micro_batch.batch, micro_batch.sequence));
      for (const Buffer* memory :
           {&outputs_[u].buffer, &grads_[u].buffer, &saved_[u], &backward_handoffs_[u]})
        fill_with_nan(*memory);
    }
  }

  std::size_t num_units() const { return decoder_.units().size(); }
  void forward(const Context& context, std::size_t u) {
    const model::Unit& unit = *decoder_.units()[u];
    const auto grads = unit.has_gradients_in_forward() ? decoder_.unit_grads(u) : std::vector<Tensor>();
    unit.forward(context, micro_batch_, decoder_.unit_weights(u), input(u), outputs_[u].tensor,
                 saved_[u].span(), grads);
  }
  /// Discards what the unit saved, and computes it again.
  void recompute(const Context& context, std::size_t u) {
    fill_with_nan(saved_[u]);
    decoder_.units()[u]->forward(context, micro_batch_, decoder_.unit_weights(u), input(u), {},
                                 saved_[u].span());
  }
  /// Runs forwards only, as evaluation does. Returns the logits.
  /// Shapes: [R, V].
  Tensor logits(const Context& context) {
    const model::ModelSpec& spec = decoder_.spec();
    logits_ = OwnedTensor(decoder_.dtype(), {micro_batch_.batch * micro_batch_.sequence, spec.vocabulary},
                          device());
    model::MicroBatch evaluated = micro_batch_;
    evaluated.logits_RV = logits_.tensor;
    for (std::size_t u = 0; u < num_units(); ++u) {
      decoder_.units()[u]->forward(context, evaluated, decoder_.unit_weights(u), input(u), outputs_[u].tensor,
                                   saved_[u].span());
    }
    return logits_.tensor;
  }
  void backward_input(const Context& context, std::size_t u) {
    decoder_.units()[u]->backward_input(context, micro_batch_, decoder_.unit_weights(u), input(u),
                                        grads_[u].tensor, u == 0 ? Tensor{} : grads_[u - 1].tensor,
                                        saved_[u].span(), backward_handoffs_[u].span());
  }
  /// Overwrites what the unit's backward_weight does not need. Call after its backward_input.
  void overwrite_dead(std::size_t u) {
    if (u > 0 && grads_[u - 1].buffer.data()) fill_with_nan(outputs_[u - 1].buffer);
    if (decoder_.units()[u]->has_gradients_in_forward()) fill_with_nan(saved_[u]);
  }
  void backward_weight(const Context& context, std::size_t u) {
    decoder_.units()[u]->backward_weight(context, micro_batch_, grads_[u].tensor, decoder_.unit_grads(u),
                                         saved_[u].span(), backward_handoffs_[u].span());
  }
  void forward(const Context& context) {
    for (std::size_t u = 0; u < num_units(); ++u) forward(context, u);
  }
  void backward(const Context& context) {
    for (std::size_t u = num_units(); u-- > 0;) {
      backward_input(context, u);
      backward_weight(context, u);
    }
  }

  const Tensor& output(std::size_t u) const { return outputs_[u].tensor; }
  const Tensor& nll() const { return outputs_.back().tensor; }
  /// Returns Σ nll over the micro-batch's targets. The outputs must lie on the host.
  double loss_sum() const {
    const auto nll = outputs_.back().tensor.span<double>();
    return std::accumulate(nll.begin(), nll.end(), 0.0);
  }

 private:
  Device device() const { return decoder_.device(); }
  static void fill_with_nan(const Buffer& memory) {
    const bool is_here = memory.device() == Device::host();
    const Buffer nan(Device::host(), is_here ? 0 : memory.bytes());
    const std::span<std::byte> bytes = is_here ? memory.span() : nan.span();
    std::fill(bytes.begin(), bytes.end(), std::byte{0xFF});
    if (is_here) return;
    const ScopedStream stream(memory.device());
    accelerator().copy(stream, memory.data(), nan.data(), nan.bytes());
    accelerator().synchronize(stream);
  }
  Tensor input(std::size_t u) const { return u == 0 ? Tensor{} : outputs_[u - 1].tensor; }

  const Decoder& decoder_;
  model::MicroBatch micro_batch_;
  std::vector<OwnedTensor> outputs_;
  std::vector<OwnedTensor> grads_;  // gradients of the outputs
  std::vector<Buffer> saved_, backward_handoffs_;
  OwnedTensor logits_;
};

}  // namespace dt::test
