#pragma once
// One matrix product of a linear layer's training, and ways to compute it. Legend: R rows (tokens), N
// output features, K input features.

#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace dt::table {

enum class Pass { forward, input, weight };
const char* pass_name(Pass pass);

/// The operands of a layer of N × K at R rows: x_RK, w_NK, y_RN (its gradient in the backward passes),
/// dx_RK in one dtype, and dw_NK in fp32.
struct Operands {
  Tensor x, w, y, dx, dw;

  /// Returns the operands of the first rows alone.
  Operands first(std::int64_t rows) const;
  double work() const;
};

/// A way to compute a product.
struct Formulation {
  std::string name;
  std::function<void()> run;
};

/// Returns the formulations of Debian's oneDNN. One is the matmul primitive on the operands as they are,
/// another has the second operand in the layout of oneDNN's choice, converted beforehand, and the third is
/// dnnl_sgemm. Weight gradients are added to what is there. Formulations that oneDNN cannot compute here
/// are left out.
std::vector<Formulation> onednn_formulations(Pass pass, const Operands& operands);

}  // namespace dt::table
