#pragma once
// What GPUs do in a second: the constants of the roofline, each with its source.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dt::plan {

struct GpuRates {
  std::string_view name;  // "h100", as users write it
  int sms;
  double peak_flops;          // of 16-bit products, summed in fp32, without sparsity
  double product_fraction;    // of it that large products keep up
  double memory_bytes_s;      // as the maker says
  double link_bytes_s;        // that a GPU sends to others of its node, in large collectives
  double attention_relative;  // speed of attention beside H100's
};

/// A100, H100, H200 and B200, each the one for servers with NVLink switches (SXM).
std::span<const GpuRates> gpu_rates();
/// "a100, h100, h200, b200"
std::string gpu_rate_names();
/// Error{usage}: there is none of that name.
const GpuRates& rates_of(std::string_view name);

/// Of the memory's bandwidth, what kernels reach that read and write each byte once.
inline constexpr double memory_fraction = 0.9;
/// From the end of a kernel to the work of the next one in the same stream: its launch, its first loads and
/// its last blocks.
inline constexpr double kernel_gap_s = 2e-6;
/// From the start of a product's wave until its first factors have come from memory and are multiplied:
/// memory's latency, about 480 cycles of H100 (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
/// Architecture", 2024), for what says where they lie and once more for themselves.
inline constexpr double wave_start_s = 0.55e-6;
/// How much longer a product takes at most whose extents are no multiples of 16 bytes. Source: nanoGPT's
/// GPT-2 124M became 25 % faster on A100 by a vocabulary of 50304 instead of 50257 (karpathy/nanoGPT,
/// model.py), with the head's products a quarter of the step. There rows began off such multiples, too, as
/// dt's never do.
inline constexpr double unaligned_factor = 1.9;

enum class AttentionLibrary { cudnn, flash_attention_2 };
enum class Pass { forward, backward };
/// Returns FLOP/s on H100 of attention in which queries see no keys behind them, whose FLOPs are half those
/// of all pairs.
double causal_attention_flops(AttentionLibrary library, Pass pass, std::int64_t head_dim,
                              std::int64_t sequence);

}  // namespace dt::plan
