#pragma once
// Makes the groups of ranks that a rank takes part in.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "model/layout.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "parallel/state/exposed_time.hpp"

namespace dt::parallel {

/// The ranks that sum the gradients of a parameter group.
struct ReductionRanks {
  comm::Communicator* all = nullptr;
  /// Ranks that divide the state with this rank; absent if the state is not divided.
  comm::Communicator* shards = nullptr;
  /// Ranks that hold the same shard of the state; absent if there are none.
  comm::Communicator* replicas = nullptr;

  bool has_replicas() const { return replicas && replicas->size() > 1; }
};

/// The groups of a rank, made once from the mesh and the world. Only the decision point (control)
/// uses the world.
class Groups {
 public:
  /// Creates the groups of a single-rank job.
  Groups() = default;
  /// Creates the groups of the mesh. `world` has as many ranks as the mesh has places, and must
  /// outlive the groups. A group that has all ranks is `world` itself. `channels` are those of the
  /// mesh's pipelines. If the model has fewer key-value heads than there are tensor-parallel ranks,
  /// several ranks hold the same heads.
  /// Collective: all ranks of `world` call it.
  Groups(const model::Layout& layout, comm::Communicator& world, std::span<const Channel> channels = {},
         std::int64_t key_value_heads = std::numeric_limits<int>::max());
  /// Makes stage(), for optimizers whose updates span ranks.
  /// Collective: all ranks of `world` call it.
  void make_stage(const model::Layout& layout);

  /// All ranks. Used for decisions, and for sums in which each rank counts what it owns.
  comm::Communicator* control() const { return control_; }
  /// The ranks of this rank's stage and tensor-parallel place, which compute other micro-batches.
  comm::Communicator* data() const { return reduction(model::ReductionAxis::data).all; }
  /// The ranks of data() that sum the gradients of parameter groups with this reduction: for experts,
  /// those that hold the same ones.
  const ReductionRanks& reduction(model::ReductionAxis axis) const {
    return reductions_[static_cast<std::size_t>(axis)];
  }
  /// The ranks of data() among which the experts of a layer are divided, and which exchange tokens;
  /// absent if experts are not divided.
  comm::Communicator* expert() const { return expert_; }

  /// The ranks of this rank's stage and data-parallel place, among which tensor parallelism splits
  /// the model; absent if the model is not split.
  comm::Communicator* tensor() const { return tensor_; }
  /// The ranks of tensor() that hold the same key-value heads; absent if each rank has its own.
  comm::Communicator* tensor_replicas() const { return tensor_replicas_; }

  /// The ranks of this rank's stage, data-parallel and tensor-parallel place, which divide each
  /// sequence; absent if sequences are not divided.
  comm::Communicator* context() const { return context_; }

  /// The ranks of this rank's stage, in the order of control(); absent unless make_stage() was called.
  comm::Communicator* stage() const { return stage_; }

  /// Returns the communicator between this rank and another stage's of the same pipeline.
  /// Errors: internal, this rank is no end of the channel.
  comm::Communicator& channel(const Channel& channel) const;

  bool is_single_rank() const { return !control_ || control_->size() == 1; }
  /// Lets the messages of all groups advance; never blocks.
  void poll() const;
  /// Returns the time that communication in these groups takes from this rank's computing.
  ExposedTime& exposed_time() const { return exposed_; }

 private:
  /// Makes a group from `from`. With a negative `key`, ranks keep their order in `from`.
  comm::Communicator* make(comm::Communicator& from, int color, const std::string& name, int key,
                           comm::DeviceGroupUse use);
  ReductionRanks divide(const model::Layout& layout, model::ReductionAxis axis, comm::Communicator* all,
                        const std::string& prefix);
  void make_expert(const model::Layout& layout);
  void make_tensor(const model::Layout& layout, std::int64_t key_value_heads);
  void make_channels(const model::Layout& layout, std::span<const Channel> together);

  comm::Communicator* control_ = nullptr;
  std::array<ReductionRanks, model::reduction_axes.size()> reductions_;
  comm::Communicator* expert_ = nullptr;
  comm::Communicator* tensor_ = nullptr;
  comm::Communicator* tensor_replicas_ = nullptr;
  comm::Communicator* context_ = nullptr;
  comm::Communicator* stage_ = nullptr;
  std::map<Channel, comm::Communicator*> channels_;
  std::vector<std::unique_ptr<comm::Communicator>> made_;
  mutable ExposedTime exposed_;
};

}  // namespace dt::parallel
