#pragma once
// A model at one precision: what its kernels can reach, and its steps.

#include <optional>
#include <string>
#include <vector>

#include "bench/table/attention.hpp"
#include "bench/table/products.hpp"
#include "bench/table/steps.hpp"

namespace dt::table {

class Trial {
 public:
  Trial(Workload workload, DType precision);

  // Each may be called again at another time.
  void measure_kernels(TorchKernels* torch);
  void train(const DtTrain& tool);
  void train_torch(const Torch& torch) { torch_ = table::train_torch(torch, workload_, precision_); }

  const Products& products() const { return products_; }
  const Trained& trained() const { return dt_; }

  /// The step's work against one rate at every shape.
  void print_of_best_rate(double best_rate, std::optional<double> bound) const;
  /// Σ over the step's products: work ÷ the best rate of anybody at that shape; and with attention's, which
  /// nothing is asked of.
  void print_of_best_rates(std::optional<double> bound) const;
  /// Where PyTorch was not measured, `why_not`.
  void print_against_torch(double bound, const std::string& why_not) const;

  std::string name_of_sum() const { return name_ + ": Σ matmuls at their best rates ÷ step"; }

 private:
  Workload workload_;
  std::string name_;
  DType precision_;
  Products products_;
  Attention attention_;
  Trained dt_;
  std::vector<TorchMode> torch_;
};

}  // namespace dt::table
