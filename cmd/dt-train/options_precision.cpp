// Device, element types and memory of activations.

#include "cmd/dt-train/option_groups.hpp"

namespace dt::train_tool {

using plan::Settings;

namespace {

/// The types of --precision in which gradients are summed and travel.
constexpr auto reduction_precisions = subset<DType::f32, DType::bf16>(precision_names);
/// The formats of products that a user may ask for.
constexpr auto products =
    subset<Arithmetic::fp32, Arithmetic::bf16, Arithmetic::amx, Arithmetic::tf32>(enum_names(Arithmetic{}));

}  // namespace

void add_precision(OptionTable& t, Settings& s) {
  t.group("Arithmetic")
      .choice("device", &s.device,
              "where ranks compute: cpu; cuda (NVIDIA GPUs, of sm_80 or newer, each rank on one); auto: cuda "
              "where every rank has a GPU")
      .choice("precision", &s.precision, precision_names,
              "of weights and activations; 16 bits keep fp32 masters; fp64 is slow: reference kernels, for "
              "proofs")
      .choice("grad-dtype", &s.grad_dtype, reduction_precisions,
              "that gradients are summed in; with bf16 bits depend on the number of ranks")
      .conflicts_with(evaluation)
      .choice("reduce-dtype", &s.reduce_dtype, reduction_precisions,
              "that gradients travel in between ranks; with bf16 bits depend on the number of ranks")
      .choice("reduce-order", &s.reduce_order,
              "in which GPUs that talk through NCCL sum: tree: dt's, of the same bits in any layout that has "
              "them, and by messages; free: NCCL's own, as NCCL_ALGO and NCCL_PROTO say")
      .choice(
          "matmul", &s.matmul, products, "auto",
          "what matrices are multiplied in: on CPUs, of bf16: fp32; bf16 (AVX512_BF16); amx (AMX's tiles of "
          "bf16); auto: the fastest here, kept on resume; on GPUs, of fp32: fp32, or auto; tf32 (10 bits of "
          "mantissa, on tensor cores)")
      .add("loss-scale", &s.loss_scale, "X",
           "of fp16, for the whole run; default: from 65536 on, halved where gradients overflow, doubled "
           "after 1000 steps that did not",
           1e-6, 1e9)
      .conflicts_with(evaluation)
      .choice("recompute", &s.recompute,
              "computed again in the backward to save memory: nothing; norms and activations; whole blocks")
      .conflicts_with(evaluation);
}

}  // namespace dt::train_tool
