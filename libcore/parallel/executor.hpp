#pragma once
// Runs any action list over a model's units. There is no second engine: training and evaluation are lists.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/unit.hpp"
#include "parallel/action.hpp"
#include "parallel/model_storage.hpp"

namespace dt::parallel {

/// What the owner of a step does at its fixed points.
struct StepHooks {
  /// After the head's forward of a micro-batch.
  std::function<void(int micro_batch, const Tensor& nll_R)> loss;
  /// Gradients are complete.
  std::function<void()> control;
  std::function<void()> step;
};

/// Activations come from a pool that grows to the largest demand of a step and then allocates no more. It is
/// made for the largest micro-batch so far; smaller ones, as an evaluation may end with, make do with its
/// buffers.
class Executor {
 public:
  /// `units` and `storage` must outlive the executor.
  Executor(const Context& context, const std::vector<std::unique_ptr<model::Unit>>& units,
           ModelStorage& storage);

  /// Blocks until the list is done. `micro_batches` are those that the actions number from `first` on.
  void run(const ActionList& list, std::span<const model::MicroBatch> micro_batches, int first,
           const StepHooks& hooks);

  /// Off: every gather and every sum is finished before this rank computes on.
  void set_overlap(bool value) { overlaps_ = value; }
  /// Lets messages advance.
  void poll();
  /// Time that communication has taken from this rank's computing since the beginning: waiting for weights
  /// and gradients, and advancing messages between kernels.
  double exposed_communication_s() const { return exposed_communication_s_; }

  /// Of the activation pool.
  std::size_t activation_bytes() const { return pool_bytes_; }

 private:
  /// What a unit holds for a micro-batch between its forward and its backward_weight.
  struct InFlight {
    Buffer output;  // y
    Buffer saved;
    Buffer handover;
    Buffer output_gradient;  // dy
  };
  InFlight& in_flight(const Action& action);
  Tensor output(int unit, const model::MicroBatch& micro_batch, const Buffer& buffer) const;
  /// Before the first action: what the pool is asked for next.
  void prepare_pool(std::span<const model::MicroBatch> micro_batches);
  /// Of `bytes`, or larger.
  Buffer take(std::size_t bytes);
  void give_back(Buffer&& buffer);

  /// Waits for them where they are being gathered.
  std::span<const Tensor> weights(int unit);
  /// The previous unit's output; absent for the first.
  Tensor input(const Action& action, const model::MicroBatch& micro_batch);
  void forward(const Action& action, const model::MicroBatch& micro_batch, bool trains,
               const StepHooks& hooks);
  void recompute(const Action& action, const model::MicroBatch& micro_batch);
  void backward_input(const Action& action, const model::MicroBatch& micro_batch);
  void backward_weight(const Action& action, const model::MicroBatch& micro_batch);
  void release_after_forward(const Action& action);
  void finish(const Action& action);
  /// Runs it and adds its time to what communication took.
  template <class Body>
  void communicate(const Body& body);
  void forget_if_empty(int unit, int micro_batch);

  const Context& context_;
  const std::vector<std::unique_ptr<model::Unit>>& units_;
  ModelStorage& storage_;
  std::map<std::pair<int, int>, InFlight> in_flight_;  // by unit and micro-batch
  std::multimap<std::size_t, Buffer> pool_;            // by size
  std::size_t pool_bytes_ = 0;
  std::int64_t pool_tokens_ = 0;  // of the micro-batches that its buffers were made for
  bool is_exact_ = true;          // those under way are as large, so that each kind of buffer has its size
  double exposed_communication_s_ = 0;
  bool overlaps_ = true;
};

}  // namespace dt::parallel
