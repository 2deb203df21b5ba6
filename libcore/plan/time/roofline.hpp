#pragma once
// Describes operations on a GPU, and computes the least time that each takes at the GPU's rates: a roofline
// of products, memory and launches. The rates are constants, each with its source.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/enum_names.hpp"

namespace dt::plan {

/// The rates of a GPU, from which the times of operations follow.
struct GpuRates {
  std::string_view name;  // "h100", as users write it
  int sms;
  double peak_flops;          // FLOP/s of 16-bit products, summed in fp32, without sparsity
  double matmul_efficiency;   // part of the peak that large products reach by the algorithms that dt takes
  double memory_bytes_s;      // maker's figure
  double link_bytes_s;        // rate at which a GPU sends to others of its node, in large collectives
  double attention_relative;  // speed of attention beside H100's
};

/// Returns the rates of A100, H100, H200 and B200, each for the model in servers with NVLink switches
/// (SXM).
std::span<const GpuRates> gpu_rates();
/// Returns their names: a100, h100, h200, b200.
std::vector<std::string> gpu_rate_names();
/// Returns the rates of a GPU.
/// Errors: usage, there is no GPU of that name.
const GpuRates& rates_of(std::string_view name);

// "Measured" means: on one H100 SXM (80 GB, CUDA 13) by gpu-check.sh, 2026-11.

/// The part of the memory's bandwidth that a copy reaches: 2795 of 3350 GB/s, measured. Additions, roundings,
/// activations, rotations, sums of squares and AdamW reach 0.95 to 1.07 of that, and are taken to reach all.
inline constexpr double memory_efficiency = 0.834;
/// Parts of a copy's rate that other kernels of dt reach, measured: layer_norm, layer_norm_backward
/// (8 bytes a feature, with the gradients of its weights), sums of columns for biases, and
/// cross-entropy's gradient.
inline constexpr double norm_relative = 0.59, norm_backward_relative = 0.65, column_sums_relative = 0.5,
                        loss_relative = 0.79;
/// Time from the end of a kernel to the work of the next kernel in the same stream: its first loads
/// and its last blocks. An assumption. The host is no part of it: in a graph it takes 0.4 µs a kernel,
/// measured.
inline constexpr double kernel_gap_s = 2e-6;
/// Time from the start of a product's wave until its first factors have come from memory and are
/// multiplied. It is twice the memory's latency, about 480 cycles of H100: once for the descriptors
/// that say where the factors lie, and once for the factors.
/// Source: Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", 2024.
inline constexpr double wave_start_s = 0.55e-6;
/// Largest factor by which a product takes longer if its extents are no multiples of 16 bytes. In the
/// source, rows began off such multiples, too, as dt's never do.
/// Source: nanoGPT's GPT-2 124M became 25 % faster on A100 by a vocabulary of 50304 instead of 50257
/// (karpathy/nanoGPT, model.py), with the head's products a quarter of the step.
inline constexpr double unaligned_factor = 1.9;

enum class AttentionLibrary { cudnn, flash_attention_2 };
enum class Pass { forward, backward };
/// Returns the FLOP/s on H100 of causal attention, whose FLOPs are half those of all pairs.
double causal_attention_flops(AttentionLibrary library, Pass pass, std::int64_t head_dim,
                              std::int64_t sequence);

enum class OperationKind { matmul, attention, memory };
constexpr auto enum_names(OperationKind) {
  using enum OperationKind;
  return std::to_array<EnumName<OperationKind>>(
      {{"products", matmul}, {"attention", attention}, {"memory", memory}});
}

struct Operation {
  std::string name;
  OperationKind kind = OperationKind::memory;
  double count = 1;  // times a step

  // product: output_MN of K terms each, from 16-bit factors.
  std::int64_t M = 0, N = 0, K = 0;
  double result_bytes = 2;  // bytes of an element that are written, and read if it is added to
  bool is_aligned = true;

  // attention: values of a micro-batch.
  double flops = 0;
  double flops_per_s = 0;  // on H100

  /// memory: all bytes; attention: those moved while it computes; product: those beside factors and
  /// result.
  double bytes = 0;
  /// memory: the part of a copy's rate that the kernel reaches, for the last wave's SMs and its
  /// instructions.
  double efficiency = 1;
  int kernels = 1;  // launches of one of `count`

  static Operation matmul(std::string name, std::int64_t M, std::int64_t N, std::int64_t K);
  static Operation memory(std::string name, double bytes, int kernels = 1);
};

/// The tile and the split of K with which a product takes least time, and the part of its waves that
/// its tiles fill.
struct MatmulTiling {
  std::int64_t tile_m = 0, tile_n = 0, split = 1;
  std::int64_t waves = 0;
  double wave_efficiency = 0;
};
MatmulTiling matmul_tiling(const Operation& product, const GpuRates& rates);

/// Return the seconds of one operation, of all `count` of it, and of a list.
double seconds_per_call(const Operation& operation, const GpuRates& rates);
double seconds_of(const Operation& operation, const GpuRates& rates);
double seconds_of(const std::vector<Operation>& operations, const GpuRates& rates);

}  // namespace dt::plan
