#pragma once
// The matrix products of a model's step, and the rate of each library at each of their shapes.

#include <string>
#include <vector>

#include "bench/table/product.hpp"
#include "bench/table/torch_kernels.hpp"
#include "model/model_spec.hpp"

namespace dt::table {

/// The best FLOP/s so far, and the way that reached them.
struct Best {
  double rate = 0;
  std::string how;
  void take(double rate_now, const std::string& how_now);
};

class Products {
 public:
  /// Lists the products of a step over `rows` tokens at once, with operands of `dtype`. The head may be
  /// computed in chunks of rows, in each library's favourite size.
  Products(const std::string& name, const model::ModelSpec& spec, std::int64_t rows, DType dtype);

  /// Computes each product by each library in turn, for some rounds; may be called again at another time.
  void measure(TorchKernels* torch);
  /// Prints a row for each product, dt against the better of the other libraries, and the least ratio.
  void print() const;

  /// Returns the best rate of any library at any shape.
  double best_rate() const;
  /// Returns Σ over the step's products: work ÷ the best rate of any library at that shape.
  double seconds_at_best() const;

 private:
  struct Entry {
    std::string name;
    std::int64_t N, K;
    int count;  // products in a step
    bool in_chunks;
    Pass pass;
    Best dt, onednn, torch;
    double best() const;
  };
  void measure(Entry& entry, const Operands& operands, TorchKernels* torch);
  std::vector<std::int64_t> chunks(const Entry& entry) const;

  std::string title_;
  std::int64_t rows_;
  DType dtype_;
  std::vector<Entry> entries_;
};

}  // namespace dt::table
