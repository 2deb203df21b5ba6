#pragma once
// Sums over rows whose bits do not depend on the number of threads.

#include <cstdint>
#include <initializer_list>

#include "base/numeric/integer.hpp"
#include "kernels/cpu/simd/parallel.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels::cpu {

/// Computes target[i] += source[i] for i in [begin, end). The target is fp32 or bf16.
/// Runs on the calling thread alone.
void accumulate_range(const float* source, const Tensor& target, std::int64_t begin, std::int64_t end);

/// Computes sums_C = Σ over rows [begin, end) of x_RC, on the calling thread alone.
void sum_columns(const Tensor& x_RC, std::int64_t begin, std::int64_t end, float* sums);

/// Computes targets[i][c] += Σ over rows. The targets are gradients (fp32 or bf16) of C elements;
/// absent ones are skipped. body(begin, end, sums) writes the sums of rows [begin, end): C floats
/// for each present target.
/// Numerics: rows are summed in chunks of 64, and the chunks are added in order, on any threads.
template <class Body>
void add_column_sums(const Context& context, std::int64_t R, std::int64_t C,
                     std::initializer_list<Tensor> targets, const Body& body) {
  constexpr std::int64_t chunk_rows = 64;
  const std::int64_t chunks = ceil_div(R, chunk_rows);
  const auto present = std::count_if(targets.begin(), targets.end(), [](const Tensor& t) { return bool(t); });
  const std::int64_t width = present * C;
  if (chunks == 0) return;
  const Arena::Scope scope(context.scratch());
  float* sums = context.scratch().allocate(DType::f32, {chunks, width}).data<float>();
  for_ranges(context, chunks, chunk_rows * C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      body(i * chunk_rows, std::min((i + 1) * chunk_rows, R), sums + i * width);
    }
  });
  for_ranges(context, C, chunks, [&](std::int64_t begin, std::int64_t end) {
    float* total = sums;
    for (const Tensor& target : targets) {
      if (!target) continue;
      for (std::int64_t i = 1; i < chunks; ++i) {
        for (std::int64_t c = begin; c < end; ++c) total[c] += total[i * width + c];
      }
      accumulate_range(total, target, begin, end);
      total += C;
    }
  });
}

}  // namespace dt::kernels::cpu
