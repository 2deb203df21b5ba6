#pragma once
// Some steps of training under one layout, and what came of them.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/ranks.hpp"
#include "data/mixture.hpp"
#include "plan/plan.hpp"
#include "prove/layout.hpp"

namespace dt::prove {

/// Weights in a file of the folder for temporary ones (TMPDIR), so that several layouts can be compared
/// without several models in memory. It is gone when the process is. Errors: environment.
class KeptWeights {
 public:
  KeptWeights();
  ~KeptWeights();
  KeptWeights(const KeptWeights&) = delete;
  /// At byte `offset` of what is kept.
  void write(std::uint64_t offset, const Tensor& values);
  void read(std::uint64_t offset, const Tensor& values) const;

 private:
  int file_;
};

/// How two sets of weights differ.
struct WeightsDifference {
  bool same_bits = true;
  double most = 0;      // absolute
  double relative = 0;  // norm of the difference ÷ norm of the reference
};

struct LayoutResult {
  int stopped_by = 0;          // a signal; then the rest is not known
  std::vector<double> losses;  // of each step
  std::uint64_t data_digest = 0;
  WeightsDifference weights;        // to the reference, on rank 0
  std::uint64_t peak_bytes = 0;     // resident, of the rank's process that has most
  parallel::StorageBytes storage;   // of rank 0
  std::int64_t moved_bytes = 0;     // by all steps, as recorded by rank 0: gathers, sums of gradients, sends
  std::int64_t expected_bytes = 0;  // by the steps' lists
  bool all_moved_as_expected = true;  // not rank 0 alone
  double tokens_per_s = 0;            // without the first step
};

struct LayoutRequest {
  KeptWeights* reference;  // on rank 0: takes the weights of the reference, else is compared with them
  bool is_reference;
  std::function<int()> stop_signal;  // a request to stop, or 0
};

/// Called by the layout's ranks together: `ranks` holds them alone.
LayoutResult run_layout(const plan::Plan& plan, const plan::Settings& settings, const data::Mixture& dataset,
                        const comm::Ranks& ranks, const LayoutRequest& request);

}  // namespace dt::prove
