#pragma once
// Training steps of other programs as lists of operations, with their published speeds.

#include <string>
#include <utility>
#include <vector>

#include "plan/time/roofline.hpp"

namespace dt_test {

using dt::plan::AttentionLibrary, dt::plan::Operation, dt::plan::OperationKind, dt::plan::Pass;

struct PublishedStep {
  std::string name;
  double tokens_s;         // published, per GPU
  double tokens;           // tokens per GPU and step
  dt::plan::GpuRates gpu;  // GPU on which the step ran
  std::vector<Operation> operations;
  double sent_bytes;  // bytes sent to GPUs of the same node while nothing is computed

  double modelled_tokens_s() const {
    return tokens / (seconds_of(operations, gpu) + sent_bytes / gpu.link_bytes_s);
  }
};

inline Operation attention(Pass pass, AttentionLibrary library, double sequences, std::int64_t length,
                           std::int64_t heads, std::int64_t head_dim) {
  Operation operation{.name = "attention", .kind = OperationKind::attention};
  const double pairs = sequences * static_cast<double>(length * length) / 2;
  operation.flops = 4 * pairs * static_cast<double>(heads * head_dim) * (pass == Pass::forward ? 1 : 2.5);
  operation.flops_per_s = dt::plan::causal_attention_flops(library, pass, head_dim, length);
  return operation;
}

inline Operation kernels(std::string name, double bytes, double efficiency, int count) {
  Operation operation = Operation::memory(std::move(name), bytes, count);
  operation.efficiency = efficiency;
  return operation;
}

/// Appends `more` to `list`, repeated `times` times.
inline void append(std::vector<Operation>& list, std::vector<Operation> more, double times) {
  for (Operation& operation : more) {
    operation.count *= times;
    list.push_back(std::move(operation));
  }
}

/// Returns a step of llm.c's train_gpt2.cu on eight H100: bf16, vocabulary padded to 50304, cuDNN's
/// attention, GELU in cuBLASLt's epilogues, norms fused with residuals, bias gradients by kernels
/// of their own, ZeRO-1. Assumes that its kernels of norms, biases and the loss are as fast as
/// dt's.
/// Source: karpathy/llm.c, train_gpt2.cu, llmc/ and scripts/run_gpt2_{124M,1558M}.sh
/// (-b, -d, -z 1).
inline std::vector<Operation> llm_c_step(std::int64_t layers, std::int64_t C, std::int64_t heads,
                                         std::int64_t sequences, double micro_batches, double parameters) {
  constexpr std::int64_t T = 1024, V = 50304;
  const std::int64_t R = sequences * T;
  const double X = 2 * static_cast<double>(R * C);  // bytes of the features of all rows
  std::vector<Operation> block;
  for (const auto& [N, K] : {std::pair{3 * C, C}, {C, C}, {4 * C, C}, {C, 4 * C}}) {
    block.push_back(Operation::matmul("forward", R, N, K));
    block.push_back(Operation::matmul("input gradient", R, K, N));
    block.push_back(Operation::matmul("weight gradient", N, K, R));
  }
  block.push_back(Operation::memory("GELU's input, kept and read again", 8 * X, 0));
  block.push_back(kernels("residual and norm", 8 * X, dt::plan::norm_relative, 2));
  block.push_back(kernels("norm's gradient", 8 * X, dt::plan::norm_backward_relative, 2));
  block.push_back(kernels("bias gradients", 9 * X, dt::plan::column_sums_relative, 4));
  for (const Pass pass : {Pass::forward, Pass::backward})
    block.push_back(
        attention(pass, AttentionLibrary::cudnn, static_cast<double>(sequences), T, heads, C / heads));
  std::vector<Operation> step;
  append(step, block, micro_batches * static_cast<double>(layers));
  append(step,
         {Operation::matmul("head", R, V, C), Operation::matmul("head's input gradient", R, C, V),
          Operation::matmul("head's weight gradient", V, C, R),
          kernels("fused classifier", 6 * static_cast<double>(R * V), dt::plan::loss_relative, 1),
          Operation::memory("encoder", 8 * X, 6)},
         micro_batches);
  append(step,
         {Operation::memory("AdamW of an eighth", parameters / 8 * 30),
          Operation::memory("gradients", parameters * 4)},
         1);
  return step;
}

/// Returns the bytes for which the step waits: the weights, and the last of the gradients.
inline double llm_c_sent_bytes(double parameters) {
  return parameters * 2 * 7 / 8 * 1.1;
}

constexpr double torchtitan_parameters = 8.03e9;

/// Returns a step of torchtitan's llama3 8B with FSDP2 on eight H100: selective activation
/// checkpointing of every other product, flash attention, fp32 reductions. Passes over memory are
/// those of PyTorch's kernels, one per operation; if compiled, one per chain of operations.
/// Source: pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md (table 1),
/// train_configs/llama3_8b.toml, torchtitan/parallelisms/parallelize_llama.py.
inline std::vector<Operation> torchtitan_step(bool is_compiled) {
  constexpr std::int64_t sequences = 2, T = 8192, C = 4096, F = 14336, V = 128256, heads = 32;
  constexpr double layers = 32;
  const std::int64_t R = sequences * T;
  const double X = 2 * static_cast<double>(R * C), G = 2 * static_cast<double>(R * F);
  struct Matrix {
    std::int64_t N, K;
    bool is_remade;
  };
  std::vector<Operation> block;
  for (const Matrix& m : {Matrix{C, C, false},
                          {C / 4, C, true},
                          {C / 4, C, false},
                          {C, C, true},
                          {F, C, false},
                          {F, C, true},
                          {C, F, false}}) {
    Operation forward = Operation::matmul("forward", R, m.N, m.K);
    forward.count = m.is_remade ? 2 : 1;
    block.push_back(forward);
    block.push_back(Operation::matmul("input gradient", R, m.K, m.N));
    block.push_back(Operation::matmul("weight gradient", m.N, m.K, R));
  }
  // Each operation runs in the forward pass, runs again when it is recomputed, and has a gradient.
  if (is_compiled) {
    block.push_back(Operation::memory("norms", 2 * (2 + 2 + 5) * X, 6));
    block.push_back(Operation::memory("residuals", 2 * 2 * X + 5 * X, 4));
    block.push_back(Operation::memory("rotary", 1.25 * (2 + 2 + 2) * X, 6));
    block.push_back(Operation::memory("SwiGLU", (3 + 3 + 5) * G, 3));
  } else {
    // The kernels are x.float(), square, mean, rsqrt, product, to bf16, times the weight: 36 bytes
    // an element.
    block.push_back(Operation::memory("norms", 2 * (18 + 18 + 30) * X, 2 * 3 * 8));
    block.push_back(Operation::memory("residuals", 2 * 2 * 3 * X + 3 * 2 * X, 8));
    // The kernels convert to fp32, multiply as complex numbers, and convert back.
    block.push_back(Operation::memory("rotary", 1.25 * (18 + 18 + 18) * X, 24));
    block.push_back(Operation::memory("SwiGLU", ((2 + 3) * 2 + 9) * G, 8));
    block.push_back(Operation::memory("keys and values repeated", 2.5 * 4 * X, 6));
  }
  for (const Pass pass : {Pass::forward, Pass::backward})
    block.push_back(attention(pass, AttentionLibrary::flash_attention_2, sequences, T, heads, C / heads));
  std::vector<Operation> step;
  append(step, block, layers);
  append(step,
         {Operation::matmul("head", R, V, C), Operation::matmul("head's input gradient", R, C, V),
          Operation::matmul("head's weight gradient", V, C, R),
          Operation::memory("loss", (is_compiled ? 12 : 40) * static_cast<double>(R * V)),
          Operation::memory("AdamW and norm of an eighth", torchtitan_parameters / 8 * 40)},
         1);
  return step;
}

/// Returns the bytes for which the step waits: the first weights and the last gradients. While the
/// others travel, NCCL holds 24 of 132 SMs, so that share of their bytes is added.
inline double torchtitan_sent_bytes() {
  const double travels = 2 * torchtitan_parameters * 2 * 7 / 8 + torchtitan_parameters * 4 * 7 / 8;
  return 0.74e9 * 4 + travels * 24 / 132;
}

inline std::vector<PublishedStep> published_steps() {
  const dt::plan::GpuRates h100 = dt::plan::rates_of("h100");
  // These H100 have 96 GB of HBM2e at 2.4 TB/s, and are limited to 500 of 700 W. A FLOP takes the
  // same energy, so speed falls as power does. If speed fell as the root of power, the compiled
  // step would come out 16 % too fast.
  constexpr double of_power = 500.0 / 700;
  dt::plan::GpuRates limited = h100;
  limited.memory_bytes_s = 2.4e12;
  limited.matmul_efficiency *= of_power;
  limited.attention_relative = of_power;
  return {
      {"llm.c GPT-2 124M", 463e3, 64 * 1024, h100, llm_c_step(12, 768, 12, 64, 1, 124.4e6),
       llm_c_sent_bytes(124.4e6)},
      {"llm.c GPT-2 1.6B", 48.5e3, 8 * 16 * 1024, h100, llm_c_step(48, 1600, 25, 16, 8, 1558e6),
       llm_c_sent_bytes(1558e6)},
      {"torchtitan 8B, compiled", 6667, 2 * 8192, limited, torchtitan_step(true), torchtitan_sent_bytes()},
      {"torchtitan 8B, eager", 5762, 2 * 8192, limited, torchtitan_step(false), torchtitan_sent_bytes()}};
}

}  // namespace dt_test
