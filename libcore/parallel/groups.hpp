#pragma once
// The groups of ranks that a rank takes part in.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "model/layout.hpp"
#include "parallel/channels.hpp"
#include "parallel/exposed_time.hpp"

namespace dt::parallel {

/// Made once, from the mesh and the world. No code but control asks for the world.
class Groups {
 public:
  /// Of a rank alone.
  Groups() = default;
  /// Called by all ranks of `world` together, of which there are as many as the mesh has places; it must
  /// outlive the groups, which are made from it only where they are not all of it. `channels` are those of
  /// its pipelines, the key-value heads the model's: with fewer of them than tensor-parallel ranks, several
  /// ranks hold the same.
  Groups(const model::Layout& layout, comm::Communicator& world, std::span<const Channel> channels = {},
         std::int64_t key_value_heads = std::numeric_limits<int>::max());

  /// Everyone: what all must agree on, and sums of what each counted once.
  comm::Communicator* control() const { return control_; }
  /// Those of this rank's stage and tensor-parallel place, which compute other micro-batches.
  comm::Communicator* data() const { return data_; }
  /// Of these, those that divide the state with this rank; absent: it is not divided.
  comm::Communicator* shards() const { return shards_; }
  /// And those that hold the same part of it; absent: none does.
  comm::Communicator* replicas() const { return replicas_; }
  bool has_replicas() const { return replicas_ && replicas_->size() > 1; }

  /// Those of this rank's stage and data-parallel place, among which tensor parallelism cuts the model;
  /// absent: it does not.
  comm::Communicator* tensor() const { return tensor_; }
  /// Of these, those that hold the same key-value heads; absent: each has its own.
  comm::Communicator* tensor_replicas() const { return tensor_replicas_; }

  /// Those of this rank's stage, data-parallel and tensor-parallel place, who divide each sequence; absent:
  /// it is not divided.
  comm::Communicator* context() const { return context_; }

  /// Between this rank and another stage's of the same pipeline. Error{internal}: this rank is no end of it.
  comm::Communicator& channel(const Channel& channel) const;

  bool is_alone() const { return !control_ || control_->size() == 1; }
  /// Lets the messages of all groups advance; never blocks.
  void poll() const;
  /// What communication among them takes from this rank's computing.
  ExposedTime& exposed() const { return exposed_; }

 private:
  /// `key` is negative where ranks lie as they do in `from`.
  comm::Communicator* make(comm::Communicator& from, int color, const std::string& name, int key,
                           comm::StreamUse use);
  void make_tensor(const model::Layout& layout, std::int64_t key_value_heads);
  void make_channels(const model::Layout& layout, std::span<const Channel> together);

  comm::Communicator* control_ = nullptr;
  comm::Communicator* data_ = nullptr;
  comm::Communicator* shards_ = nullptr;
  comm::Communicator* replicas_ = nullptr;
  comm::Communicator* tensor_ = nullptr;
  comm::Communicator* tensor_replicas_ = nullptr;
  comm::Communicator* context_ = nullptr;
  std::map<Channel, comm::Communicator*> channels_;
  std::vector<std::unique_ptr<comm::Communicator>> made_;
  mutable ExposedTime exposed_;
};

}  // namespace dt::parallel
