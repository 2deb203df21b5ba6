#pragma once
// What a rank holds of a model in training: weights and their masters, gradients, optimizer moments, each
// whole or in part as the sharding says.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "parallel/gradient_store.hpp"
#include "parallel/groups.hpp"
#include "parallel/lanes.hpp"
#include "parallel/local_table.hpp"
#include "parallel/precision.hpp"
#include "parallel/weight_store.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/host_copy.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// Bytes by purpose, summed over groups.
struct StorageBytes {
  std::size_t weights = 0;
  std::size_t gradients = 0;
  std::size_t optimizer = 0;   // moments, and masters where they are apart from the weights
  std::size_t checkpoint = 0;  // of these, what a checkpoint holds
  std::size_t gathered = 0;    // beside these, of units in work and of what travels
  std::size_t total() const { return weights + gradients + optimizer + gathered; }
};

/// Groups and parameters are the local table's. "This rank's part" of a group is its whole flat buffer where
/// nothing is divided.
class ModelStorage {
 public:
  /// Without a lane plan there are weights alone, for evaluation. All must outlive the storage.
  /// Error{internal}: ranks that do not divide as the table says.
  ModelStorage(Device device, const LocalTable& local, Precision precision, const LanePlan* plan,
               const Groups& ranks);

  const LocalTable& local() const { return local_; }
  const Precision& precision() const { return precision_; }
  const Groups& ranks() const { return ranks_; }
  int num_groups() const { return static_cast<int>(states_.size()); }
  WeightStore& weights() { return weights_; }
  /// Of a storage for training.
  GradientStore& gradients() { return *gradients_; }

  /// Gives what this rank holds of a parameter its values: `fill` writes them, in the master's dtype, on the
  /// host (see fill_from_host); it is not called where that is nothing. Weights in 16 bits are rounded from
  /// them.
  void set_weights(const Context& context, const LocalParam& param, const FillPiece& fill);

  /// This rank's part of a group's flat buffers; of the gradient, once it is complete. Without masters apart,
  /// the weights are their own. Masters and moments are absent where the group's state is another stage's.
  Tensor group_weights(int group) const { return weights_.part(group); }
  Tensor group_masters(int group) const;
  Tensor group_gradient(int group) const { return gradients_->part(group); }
  Tensor group_first_moment(int group) const;
  Tensor group_second_moment(int group) const;

  /// What a storage of this kind holds, without allocating it.
  static StorageBytes estimate(const LocalTable& local, Precision precision, const LanePlan* plan);
  /// What this one holds.
  StorageBytes bytes() const;

 private:
  /// Of the optimizer, for one group.
  struct State {
    Buffer masters;  // empty where weights are their own
    Buffer first_moment;
    Buffer second_moment;
  };
  Tensor state(int group, const Buffer& buffer) const;

  const LocalTable& local_;
  Precision precision_;
  const Groups& ranks_;
  WeightStore weights_;
  std::optional<GradientStore> gradients_;
  std::vector<State> states_;
};

}  // namespace dt::parallel
