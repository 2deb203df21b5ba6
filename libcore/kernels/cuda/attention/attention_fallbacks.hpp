#pragma once
// Collects what a library on GPUs has no kernel for. A run reports it once, after its first step.

#include <string>

namespace dt::kernels::cuda {

/// Keeps a line for attention_fallbacks, unless it has the line already.
/// Thread safety: safe from several threads.
void record_attention_fallback(const std::string& line);

}  // namespace dt::kernels::cuda
