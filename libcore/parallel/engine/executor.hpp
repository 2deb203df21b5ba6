#pragma once
// Runs any action list over a model's units. There is no second engine: training and evaluation are lists.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "model/units/unit.hpp"
#include "parallel/engine/activations.hpp"
#include "parallel/engine/tensor_parallel_ops.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/schedule/step_observer.hpp"
#include "parallel/state/groups.hpp"
#include "parallel/state/model_storage.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/device/accelerator.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Sends to and receives from a rank's neighbours on the pipeline's axis; see Payload for the rules.
class Transfers {
 public:
  /// `rank` is this rank's place on the axis. `release` takes the buffers that were sent. Context and
  /// groups must outlive the object.
  Transfers(const Context& context, const Groups& ranks, int rank, std::function<void(Buffer&&)> release);

  /// Waits until the second send before it in its channel is complete, then starts a send. Keeps
  /// `buffer`, which holds the data, until the send is complete. Without a buffer the data must
  /// stay until finish().
  void send(const Action& send, const Tensor& data, Buffer&& buffer = {});
  /// Starts a receive. The data must not be read before the Work, or finish(), is done.
  comm::Work receive(const Action& receive, const Tensor& data);
  /// Waits for all that was started.
  void finish();

 private:
  struct SendInFlight {
    Buffer buffer;
    comm::Work work;  // declared after what it reads, so that it is destroyed first
  };
  comm::Communicator& channel(const Action& transfer) const;
  void wait_oldest(std::deque<SendInFlight>& sent);

  const Context& context_;
  const Groups& ranks_;
  int rank_;
  std::function<void(Buffer&&)> release_;
  std::map<Channel, std::deque<SendInFlight>> sent_;
  std::map<Channel, comm::Work> received_;  // newest of each; earlier ones are complete sooner
};

/// Names actions in profilers, which draw what host and device do.
class NamedRanges final : public StepObserver {
 public:
  void on_action_begin(const Action& action) override { accelerator().begin_range(to_string(action)); }
  void on_action_end(const Action&, const ActionTimes&) override { accelerator().end_range(); }
};

/// Callbacks at the fixed points of a step.
struct StepHooks {
  /// Called after the head's forward of a micro-batch.
  std::function<void(int micro_batch, const Tensor& nll_R)> loss;
  /// Called in training after the forward of a unit with auxiliary losses, but not after a forward that
  /// is made again. The tensor is valid until work that is enqueued after the call.
  std::function<void(int unit, int micro_batch, const Tensor& auxiliary_AR)> auxiliary{};
  /// Called in training before the forward of a block, but not before a repeated forward. Returns the
  /// forward's MicroBatch::max_scores_H. May be absent.
  std::function<Tensor(int unit)> max_scores{};
  /// Called after any unit's forward.
  std::function<void(int unit, int micro_batch, const Tensor& y)> output{};
  /// Called when gradients are complete.
  std::function<void()> control{};
  std::function<void()> step{};
};

/// Returns the bytes that gathers, sums and sends of the ranks' groups have moved since the beginning.
std::int64_t recorded_bytes(comm::Communicator& group);

class Executor {
 public:
  /// All arguments must outlive the executor. `ops` are the operations of units that share layers with
  /// other ranks' units.
  Executor(const Context& context, const std::vector<std::unique_ptr<model::Unit>>& units,
           ModelStorage& storage, const CommTensorParallelOps* ops = nullptr);
  Executor(const Executor&) = delete;

  /// Runs a list and blocks until it is done. Actions number `micro_batches` from `first` on.
  void run(const ActionList& list, std::span<const model::MicroBatch> micro_batches, int first,
           const StepHooks& hooks);

  /// Warms up once if receives wait in streams, and allocates the device memory that the list
  /// needs. An allocation inside the list might wait for a receive. run() calls it first.
  /// Collective: all ranks of a stage call it.
  void prepare(const ActionList& list, std::span<const model::MicroBatch> micro_batches, int first);

  /// Computes one unit of each kind that this rank holds, on the first of these micro-batches,
  /// forward and back. Blocks of several kinds are computed one of each. It gathers all weights and
  /// sums all gradients over the ranks, and waits. Libraries thus load and choose the kernels that
  /// they will need, and groups connect their peers for the operations of a step. Both may wait for
  /// all work that was given to the device. prepare() calls it. It leaves no trace: gradients go
  /// nowhere, nothing goes to other stages, no hook gets the losses, and no random numbers are drawn.
  /// It takes no more memory than a unit of a step.
  /// Collective: all ranks of a stage call it.
  void warm_up(std::span<const model::MicroBatch> micro_batches, int first);
  /// Returns the part of recorded_bytes() that the warm-up moved.
  std::int64_t warm_up_bytes() const { return warm_up_bytes_; }

  /// Sets whether communication overlaps computation. If off, every gather and every sum is
  /// finished before this rank continues to compute.
  void set_overlap(bool value) { overlaps_ = value; }
  /// Lets messages advance.
  void poll();

  /// Adds an observer of training's lists, until it is removed.
  void add_observer(StepObserver& observer) { observers_.push_back(&observer); }
  void remove_observer(StepObserver& observer) { std::erase(observers_, &observer); }

  /// Returns the times of computing in training's lists, without communication. If ranks share
  /// layers, backward_input has the whole backward's time when its weight half comes at once.
  UnitTimes& unit_times() { return unit_times_; }

  /// Returns the bytes of the activation pool.
  std::size_t activation_bytes() const { return activations_.pool_bytes(); }

 private:
  /// A list, and the shapes that determine the memory that it takes.
  struct MemoryDemand {
    ActionList list{};
    std::vector<std::pair<std::int64_t, std::int64_t>> shapes{};  // batch and sequence of each micro-batch
    bool operator==(const MemoryDemand&) const = default;
  };
  /// Returns whether a unit is the head. The unit's place does not tell: in a list of units the head
  /// need not be last.
  static bool is_head(const model::Unit& unit);
  static bool trains(const ActionList& list);
  void perform(const Action& action, const StepHooks& hooks);
  /// Performs an action, and tells the observers.
  void perform_observed(const Action& action, const StepHooks& hooks);
  /// Returns a unit's weights; waits for them if they are being gathered.
  std::span<const Tensor> weights(int unit);
  /// Returns the previous unit's output; absent for the first unit. Waits for it if it is being
  /// received.
  Tensor input(const Action& action);
  /// Returns dy; absent for the head. Waits for it if it is being received.
  Tensor output_gradient(const Action& action);
  void warm_up(int unit, int micro_batch);
  void forward(const Action& action, const StepHooks& hooks);
  Tensor auxiliary_terms(const model::Unit& unit, const model::MicroBatch& micro_batch);
  void recompute(const Action& action);
  void backward_input(const Action& action);
  void backward_weight(const Action& action);
  bool receives_block_streams() const;
  bool splits_layers() const { return tensor_parallel_ops_ && !tensor_parallel_ops_->shard().is_whole(); }
  template <class Body>
  void with_gradients(const Action& action, const Body& body);
  void release_after_forward(const Action& action);
  void release_output(int unit, int micro_batch);
  void send(const Action& action);
  void start_send(const Action& action, const Tensor& data, Buffer&& buffer = {});
  void receive(const Action& action);
  void finish(const Action& action);
  /// Runs `body`, whose time counts as communication.
  template <class Body>
  void communicate(const Body& body);

  const Context& context_;
  ModelStorage& storage_;
  const CommTensorParallelOps* tensor_parallel_ops_;
  Activations activations_;
  Transfers transfers_;  // declared after what they read and write, so that they are destroyed first
  UnitTimes unit_times_;
  NamedRanges named_ranges_;
  std::vector<StepObserver*> observers_;
  bool overlaps_ = true;
  bool is_warmed_up_ = false;
  std::int64_t warm_up_bytes_ = 0;
  bool has_computed_ = false;  // the warm-up had a micro-batch
  MemoryDemand prepared_{};    // last training list whose memory was allocated
  bool trains_ = false;        // the current list trains
  bool both_halves_ = false;   // the current action does both halves of the backward, as ranks share layers
};

}  // namespace dt::parallel
