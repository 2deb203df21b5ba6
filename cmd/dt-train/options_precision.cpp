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
  t.group("Device and precision")
      .choice("device", &s.device, "device of the ranks; auto: cuda if the ranks have GPUs, otherwise cpu")
      .details("cuda needs NVIDIA GPUs of compute capability 8.0 or newer. Each rank uses one GPU.")
      .choice("precision", &s.precision, precision_names,
              "data type of weights and activations; bf16 and fp16 keep fp32 master weights")
      .details("fp64 uses the reference kernels. It is slow; use it to compare layouts.")
      .choice("grad-dtype", &s.grad_dtype, reduction_precisions, "data type in which gradients are summed")
      .details("With bf16 the bits of the result depend on the number of ranks.")
      .conflicts_with(evaluation)
      .choice("reduce-dtype", &s.reduce_dtype, reduction_precisions,
              "data type in which gradients are sent between ranks")
      .details("With bf16 the bits of the result depend on the number of ranks.")
      .choice("reduce-order", &s.reduce_order,
              "order in which NCCL sums over ranks; tree: reproducible; free: NCCL's choice")
      .details(
          "tree is dt's summation tree. It gives the same bits in all layouts for which dt guarantees equal "
          "bits, and the same bits as communication through MPI. free leaves the order to NCCL; NCCL_ALGO "
          "and NCCL_PROTO affect it.")
      .choice("matmul", &s.matmul, products, "auto",
              "arithmetic of matrix products; auto: the fastest on this CPU, fp32 on GPUs")
      .details(
          "On CPUs this applies to --precision bf16: fp32, bf16 (AVX512_BF16) or amx (AMX tiles of bf16). "
          "auto measures which is fastest, and a resume keeps that choice.\n\n"
          "On GPUs it applies to --precision fp32: fp32 or tf32, which uses tensor cores and 10 bits of "
          "mantissa.")
      .add("loss-scale", &s.loss_scale, "X",
           "fp16: fixed loss scale for the whole run; default: dynamic, starting at 65536", 1e-6, 1e9)
      .details(
          "The dynamic scale is halved when gradients overflow, and doubled after 1000 steps without "
          "overflow.")
      .conflicts_with(evaluation)
      .choice("recompute", &s.recompute, "activations that the backward pass recomputes, to save memory")
      .details("none: nothing; selective: norms and activation functions; full: whole blocks.")
      .conflicts_with(evaluation);
}

}  // namespace dt::train_tool
