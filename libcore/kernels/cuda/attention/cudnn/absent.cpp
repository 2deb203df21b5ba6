// Replaces attention.cpp if cuDNN's headers or those of its front end were not found. dt's own
// kernels then compute all attention.
#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

bool attend(const Context&, const FusedAttention&) {
  return false;
}

bool attend_backward(const Context&, const FusedAttention&, const FusedAttentionGradients&) {
  return false;
}

AttentionLibrary attention_library() {
  return {.unavailable_reason = "dt was built without cuDNN"};
}

void prepare_fused_attention() {}

}  // namespace dt::kernels::cuda
