#pragma once
// Models by sizes alone how a GradientStore acquires and releases buffers of its pool in a step.

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "parallel/state/local_table.hpp"
#include "parallel/state/precision.hpp"
#include "parallel/state/simulated_pool.hpp"

namespace dt::parallel {

/// The buffers of a store in one step. Each kind of store has a model beside it, with functions of the same
/// names, that acquires and releases in the same order.
class SimulatedGradients {
 public:
  /// Table and precision must outlive the model.
  SimulatedGradients(const LocalTable& local, const Precision& precision, bool has_replicas,
                     SimulatedPool pool)
      : local_(local), precision_(precision), has_replicas_(has_replicas), pool_(std::move(pool)) {}
  virtual ~SimulatedGradients() = default;

  /// Models GradientStore::unit_gradients().
  virtual void acquire(int unit) = 0;
  virtual void reduce(int unit) = 0;
  virtual void wait_reductions() = 0;
  /// Models complete(), or finish_tied() of that group.
  void finish(std::optional<int> group);
  const std::vector<std::size_t>& missing() const { return pool_.missing(); }

 protected:
  const LocalTable& local() const { return local_; }
  const Precision& precision() const { return precision_; }
  bool has_replicas() const { return has_replicas_; }
  SimulatedPool& pool() { return pool_; }
  std::size_t acquire_elements(std::int64_t numel, DType dtype) {
    return pool_.acquire(static_cast<std::size_t>(numel) * dtype_bytes(dtype));
  }
  /// Returns the size of the buffer in which so many values travel; 0 if they travel as they are.
  std::size_t acquire_wire(std::int64_t numel) {
    return precision_.wire() == precision_.gradient ? 0 : acquire_elements(numel, precision_.wire());
  }
  /// Acquires a holder's wire, until release_wires().
  void hold_wire(std::int64_t numel) { wires_.push_back(acquire_wire(numel)); }
  void release_wires() {
    for (std::size_t& bytes : wires_) pool_.release(bytes);
    wires_.clear();
  }

 private:
  const LocalTable& local_;
  const Precision& precision_;
  bool has_replicas_;
  SimulatedPool pool_;
  std::vector<std::size_t> wires_;
  std::set<int> is_final_;  // groups
};

}  // namespace dt::parallel
