#pragma once
// Training steps: dt-train's, as it reports them, and PyTorch's.

#include <limits>
#include <string>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "bench/table/program.hpp"
#include "model/model_spec.hpp"

namespace dt::table {

/// The work of a step: one micro-batch.
struct Workload {
  std::string name;
  model::ModelSpec spec;
  std::int64_t sequence, batch;

  std::int64_t tokens() const { return sequence * batch; }
  /// Returns FLOP of the matmuls, 6 a parameter and token, and of causal attention: half the square, 3.5
  /// times the forward with the backward.
  double work() const;
};

struct DtTrain {
  std::string program, shards;
};

struct Trained {
  double step_s = std::numeric_limits<double>::infinity();
  double peak_bytes = 0;
};

/// Trains and returns the best step after the first, which allocates memory.
Trained train(const DtTrain& tool, const Workload& workload, DType precision,
              const std::vector<std::string>& options = {});

/// A way to train with PyTorch, such as "compiled-autocast", and its best step's time.
struct TorchMode {
  std::string name;
  double step_s;
};

/// Trains eager and compiled; in bf16 by autocast and with everything in 16 bits.
std::vector<TorchMode> train_torch(const Torch& torch, const Workload& workload, DType precision);

}  // namespace dt::table
