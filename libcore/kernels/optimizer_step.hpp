#pragma once
// The update of weights by an optimizer.

#include <cstdint>
#include <span>

#include "base/text/enum_names.hpp"
#include "kernels/stochastic_rounding.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// The optimizers. optimizer_step() has no rule for Muon (optim/muon.hpp) and Adafactor
/// (optim/adafactor.hpp): their update of an element depends on other elements.
enum class OptimizerKind { adamw, sgd, lion, muon, adafactor };
constexpr auto enum_names(OptimizerKind) {
  using enum OptimizerKind;
  return std::to_array<EnumName<OptimizerKind>>(
      {{"adamw", adamw}, {"sgd", sgd}, {"lion", lion}, {"muon", muon}, {"adafactor", adafactor}});
}

/// The type in which AdamW's moments are stored: the type of the weights that it updates, or bf16.
enum class MomentType { master, bf16 };
constexpr auto enum_names(MomentType) {
  return std::to_array<EnumName<MomentType>>({{"master", MomentType::master}, {"bf16", MomentType::bf16}});
}

/// The hyper-parameters of all optimizers, of which each uses some (optim/optimizer.cpp). The
/// defaults are AdamW's.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::adamw;
  double weight_decay = 0.1;  // decoupled: w −= lr · weight_decay · w
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double momentum = 0;
  bool nesterov = false;
  double adam_lr = 0;            // muon: peak learning rate of parameters that AdamW updates; 0: as all
  double beta2_decay = 0.8;      // adafactor: β₂ of step t is 1 − t^(−beta2_decay)
  double clip_threshold = 1;     // adafactor: largest root mean square of a direction; 0: none
  bool scale_parameter = false;  // adafactor: multiplies the rate by max(10⁻³, RMS(w))
  bool relative_step = false;    // adafactor: the rate is at most 1/√t
  MomentType moments = MomentType::master;
};

struct OptimizerStep {
  OptimizerSettings settings;
  double lr;
  std::int64_t step;            // t, counted from 1
  double grad_scale;            // factor of every gradient, applied first (clipping, loss scale)
  PhiloxKey rounding_key = {};  // key of the random bits that round states to bf16
  ElementIndices elements = {};
  RoundingBits rounding_bits() const { return {rounding_key, step, elements}; }
};

/// Updates w and the states in place, and sets copy to the new w, rounded. With g = grad · grad_scale
/// and w' = w − lr · weight_decay · w:
///
/// adamw, states m and v: m = β₁m + (1−β₁)g; v = β₂v + (1−β₂)g²;
///   w = w' − lr · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + eps).
/// sgd without momentum, no state: w = w' − lr · g.
/// sgd with momentum, state m: m = momentum · m + g; w = w' − lr · m, or with nesterov
///   w = w' − lr · (g + momentum · m).
/// lion, state m: w = w' − lr · sign(β₁m + (1−β₁)g); m = β₂m + (1−β₂)g.
///
/// Shapes: all tensors have one length; there are num_optimizer_states(settings) states. copy may
/// be absent.
/// Numerics: w and the states are of one dtype, f32 or f64. grad is f64 for f64, else f32 or bf16.
/// copy is a narrow float and requires an fp32 w. The states of adamw may be bf16 if w is fp32: the new
/// states update w in fp32, and are then rounded stochastically (RoundingBits; m takes the lower bits).
/// Source: Loshchilov & Hutter 2019, algorithm 2 (adamw) and algorithm 1 (sgd); Sutskever et al. 2013,
/// section 2 (momentum and nesterov, with lr as a factor of the sum instead of each gradient); Chen et
/// al. 2023, algorithm 2 (lion).
void optimizer_step(const Context& context, const OptimizerStep& step, const Tensor& w, const Tensor& grad,
                    std::span<const Tensor> states, const Tensor& copy);

/// Returns the number of tensors beside w and grad that the update takes.
int num_optimizer_states(const OptimizerSettings& settings);

}  // namespace dt::kernels
