#pragma once
// Makes some steps of training under one layout, and measures them.

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/ranks.hpp"
#include "data/read/mixture.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/plan.hpp"
#include "tensor/tensor.hpp"

namespace dt::equivalence {

/// Weights in a file of the folder for temporary files (TMPDIR), so that layouts can be compared
/// without several models in memory. The file vanishes with the process.
/// Errors: environment.
class TemporaryWeightsFile {
 public:
  TemporaryWeightsFile();
  ~TemporaryWeightsFile();
  TemporaryWeightsFile(const TemporaryWeightsFile&) = delete;
  /// Copies values to or from byte `offset` of the file.
  void write(std::uint64_t offset, const Tensor& values);
  void read(std::uint64_t offset, const Tensor& values) const;

 private:
  int file_;
};

/// The difference between two sets of weights.
struct WeightsDifference {
  bool bit_identical = true;
  double max_absolute = 0;   // absolute
  double relative_norm = 0;  // norm of the difference ÷ norm of the reference
};

struct LayoutResult {
  int stopped_by = 0;          // signal that stopped the run; all else is then unknown; 0: none
  std::vector<double> losses;  // one for each step
  std::uint64_t data_digest = 0;
  WeightsDifference weights;        // from the reference, on rank 0
  std::uint64_t peak_bytes = 0;     // resident, of the rank's process with the most
  parallel::StorageBytes storage;   // rank 0's
  std::int64_t moved_bytes = 0;     // in all steps, as recorded by rank 0: gathers, sums of gradients, sends
  std::int64_t expected_bytes = 0;  // in all steps, by their lists
  bool all_moved_as_expected = true;  // on all ranks
  double tokens_per_s = 0;            // without the first step
};

struct LayoutRequest {
  TemporaryWeightsFile*
      reference;  // on rank 0: receives the reference's weights; other layouts are compared with it
  bool is_reference;
  std::function<int()> stop_signal;  // a request to stop, or 0
};

/// Trains under one layout.
/// Collective: the layout's ranks call it; `ranks` holds them alone.
LayoutResult run_layout(const plan::Plan& plan, const data::Mixture& dataset, const comm::Ranks& ranks,
                        const LayoutRequest& request);

}  // namespace dt::equivalence
