#pragma once
// What a library on GPUs has no kernel for: a run tells it once, after its first step.

#include <string>

namespace dt::kernels::cuda {

/// Keeps a line for attention_declines, unless it has it already. Any thread may call.
void tell_declined(const std::string& line);

}  // namespace dt::kernels::cuda
