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

  // The measuring functions may be called again at another time.
  void measure_kernels(TorchKernels* torch);
  void train(const DtTrain& tool);
  void train_torch(const Torch& torch) { torch_ = table::train_torch(torch, workload_, precision_); }

  const Products& products() const { return products_; }
  const Trained& trained() const { return dt_; }

  /// Prints the step's work against one rate at every shape.
  void print_of_best_rate(double best_rate, std::optional<double> bound) const;
  /// Prints Σ over the step's products: work ÷ the best rate of any library at that shape. Then prints the
  /// same with attention's time, without a bound.
  void print_of_best_rates(std::optional<double> bound) const;
  /// Prints the step against PyTorch's, or `why_not` if PyTorch was not measured.
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
