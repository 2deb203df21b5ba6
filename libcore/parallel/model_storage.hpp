#pragma once
// The flat buffers behind a model's parameter groups: weights and their masters, gradients per holder,
// optimizer moments.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "model/parameter_table.hpp"
#include "parallel/lanes.hpp"
#include "parallel/precision.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Bytes by purpose, summed over groups.
struct StorageBytes {
  std::size_t weights = 0;
  std::size_t gradients = 0;
  std::size_t optimizer = 0;   // moments, and masters where they are apart from the weights
  std::size_t checkpoint = 0;  // of these, what a checkpoint holds
  std::size_t total() const { return weights + gradients + optimizer; }
};

class ModelStorage {
 public:
  /// Without a lane plan there are weights alone, for evaluation. `replicas` are the data-parallel ranks
  /// among which a step's micro-batches are divided; without them this rank is the only one. Both must
  /// outlive the storage.
  ModelStorage(const model::ParameterTable& table, Precision precision, const LanePlan* plan,
               comm::Communicator* replicas = nullptr);

  const model::ParameterTable& table() const { return table_; }
  const Precision& precision() const { return precision_; }
  int num_groups() const { return static_cast<int>(groups_.size()); }

  /// A unit's weights in UnitSpec::params order.
  const std::vector<Tensor>& weights(int unit) const { return unit_weights_[static_cast<std::size_t>(unit)]; }
  /// Begins a step's sums of gradients. Those of the last step are gone then.
  void start_step();
  /// Where a micro-batch's gradients of a unit's parameters are to be added, in UnitSpec::params order.
  std::vector<Tensor> gradients(const Context& context, int unit, std::int64_t micro_batch);
  /// Says that they have been added: completed lanes combine.
  void finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch);
  /// The unit's gradients are summed over this rank's lanes: starts their sum over the replicas and returns.
  void reduce(int unit);
  /// Blocks until every sum that was started is done. A tied group's sums then meet, always in the order of
  /// its holders. All units must have been reduced.
  void complete_gradients(const Context& context);
  /// Lets started sums advance; never blocks.
  void poll();

  /// Gives a parameter its values: `fill` writes them, in the master's dtype. Weights in 16 bits are rounded
  /// from them.
  void set_weights(const Context& context, int param, const std::function<void(const Tensor& values)>& fill);

  /// The flat buffers of a group; the gradient is valid once gradients are complete. Without masters apart,
  /// the weights are their own.
  Tensor group_weights(int group) const;
  Tensor group_masters(int group) const;
  Tensor group_gradient(int group) const;
  Tensor group_first_moment(int group) const;
  Tensor group_second_moment(int group) const;

  /// A parameter's part of a group's flat buffer, in its global shape.
  Tensor param_in(const Tensor& flat, int param) const;

  /// What a storage of this kind would hold, without allocating it.
  static StorageBytes estimate(const model::ParameterTable& table, Precision precision, const LanePlan* plan);

 private:
  struct Group {
    Buffer weights;
    Buffer masters;  // empty where weights are their own
    Buffer first_moment;
    Buffer second_moment;
    std::vector<GradientSum> gradients;             // one per holder
    std::vector<std::optional<comm::Work>> sums{};  // over the replicas, of holders that are reduced
  };
  Tensor flat(int group, const Buffer& buffer, DType dtype) const;
  std::size_t holder_of(int group, int unit) const;
  GradientSum& gradient_of(int group, int unit);
  /// The groups that a unit computes with, each once.
  std::vector<int> groups_of(int unit) const;

  const model::ParameterTable& table_;
  Precision precision_;
  comm::Communicator* replicas_;
  bool gradients_are_complete_ = false;
  std::vector<Group> groups_;
  std::vector<std::vector<Tensor>> unit_weights_;
};

}  // namespace dt::parallel
