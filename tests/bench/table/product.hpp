#pragma once
// One matrix product of a linear layer's training, and who computes it. Legend: R rows (tokens), N output
// features, K input features.

#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace dt::table {

enum class Pass { forward, input, weight };
const char* pass_name(Pass pass);

/// The operands of a layer of N × K at R rows: x_RK, w_NK and y_RN (its gradient in the backward passes) of
/// one dtype, dx_RK alike, dw_NK in fp32.
struct Operands {
  Tensor x, w, y, dx, dw;

  /// The same of the first rows alone.
  Operands first(std::int64_t rows) const;
  double work() const;
};

/// A way to compute it.
struct Formulation {
  std::string name;
  std::function<void()> run;
};

/// Debian's oneDNN: the matmul primitive on the operands as they are, the same with the second one in the
/// layout of oneDNN's choice, converted beforehand, and dnnl_sgemm. Weight gradients are added to what is
/// there. Leaves out what it cannot compute here.
std::vector<Formulation> onednn_formulations(Pass pass, const Operands& operands);

}  // namespace dt::table
