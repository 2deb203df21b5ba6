#pragma once
// PyTorch's matrix products and attention, timed by torch_kernels.py. The script waits for requests, so
// that its figures are taken next to dt's.

#include "bench/table/product.hpp"
#include "bench/table/program.hpp"
#include "kernels/attention.hpp"

namespace dt::table {

struct AttentionSeconds {
  double forward, backward;
};

class TorchKernels {
 public:
  /// Starts the script.
  /// Errors: environment, the script does not start.
  explicit TorchKernels(const Torch& torch);

  double product_s(Pass pass, DType dtype, std::int64_t rows, std::int64_t outputs, std::int64_t inputs);
  const std::string& version() const { return version_; }
  AttentionSeconds attention_s(DType dtype, const kernels::AttentionShape& shape);

 private:
  std::string ask(const std::string& line);
  std::string answer();

  Program program_;
  std::string version_;
};

}  // namespace dt::table
