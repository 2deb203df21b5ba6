#pragma once
// The ranks that write a checkpoint's files, and the transfer of other ranks' shards to them.
//
// Each rank writes its own file, or the ranks of a node form groups with one file each. A group's
// first rank writes the file. The others copy their shards into memory that the writer maps, so
// that ranks exchange no messages while training continues.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/writer.hpp"
#include "comm/communicator.hpp"
#include "comm/node/shared_memory.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::run {

/// Returns, by rank, the number of the file that holds its shard. The ranks of each host, in order,
/// form `per_host` groups whose sizes differ by at most one. If a host has no more ranks than that,
/// each rank forms its own group. Files are numbered in the order of their groups' first ranks.
std::vector<int> assign_files(std::span<const std::string> hosts, std::int64_t per_host);

/// The state to be saved, as ranks hold it.
struct StateShards {
  /// Returns this rank's shard at present, as views of memory that training changes.
  std::function<std::vector<checkpoint::SourcePiece>()> own;
  /// Returns the pieces of any rank's shard, which never change.
  std::function<std::vector<checkpoint::PieceSpec>(int rank)> of_rank;
  /// The context that changes the state. The views lie on its device. It must outlive the objects
  /// made from this.
  const Context& trained_by;
};

class AggregationGroup {
 public:
  /// Without `writers_per_node` each rank forms its own group. Allocates memory for a copy of this
  /// rank's shard if another rank writes it, if it is written `in_background`, or if it lies on a
  /// device.
  /// Collective: called by all ranks together; blocks.
  /// Errors: environment on all ranks if memory is short, or ranks of one host cannot share it.
  AggregationGroup(comm::Communicator& world, const StateShards& shards,
                   std::optional<std::int64_t> writers_per_node, bool in_background);

  int num_files() const { return num_files_; }
  /// Return the number of the group's file, and whether this rank writes it.
  int file() const { return file_; }
  bool writes() const { return writes_; }

  /// Returns whether copy() must be called even if the state does not change during the write.
  bool needs_copy() const { return !writes_ || stream_; }
  /// Makes the next copy() wait for all device work that this thread has enqueued for training so
  /// far. The thread that trains calls it.
  void order_after_training();
  /// Copies this rank's shard and replaces `pieces` by the copy. Blocks until it is copied. If
  /// another rank writes the shard, call it once per checkpoint, after the previous checkpoint is
  /// committed.
  /// Thread safety: any thread.
  void copy(std::vector<checkpoint::SourcePiece>& pieces);
  /// Waits until the group's other ranks have copied their shards, and appends those to `pieces`.
  /// Only the writing rank calls it, once per checkpoint. `waiting` is called repeatedly meanwhile,
  /// and may throw.
  void append_members(std::vector<checkpoint::SourcePiece>& pieces, const std::function<void()>& waiting);

 private:
  /// A rank whose shard this rank writes.
  struct Member {
    comm::SharedMemory memory;
    std::vector<checkpoint::SourcePiece> pieces;
  };
  void make_memory(std::span<const checkpoint::PieceSpec> shard, bool in_background);
  void make_shared_memory(std::span<const checkpoint::PieceSpec> shard);
  void copy_piece(const Tensor& from, const Tensor& to);
  void map_others(comm::Communicator& world, const StateShards& shards, std::span<const int> files);

  const Context& trained_by_;
  int num_files_ = 1;
  int file_ = 0;
  bool writes_ = true;
  Buffer own_memory_;                                // copy, on a rank that writes
  std::optional<comm::SharedMemory> shared_memory_;  // copy, on a rank that does not write
  std::optional<PinnedMemory> pinned_;               // pins shared_memory_ if a device copies into it
  comm::SharedMemory::Offer offer_;                  // offer of shared_memory_
  std::vector<checkpoint::SourcePiece> copies_;      // pieces in either memory
  std::optional<ScopedStream> stream_;               // stream of copies from a device
  std::uint64_t num_copied_ = 0;
  std::vector<Member> members_;
  std::uint64_t num_collected_ = 0;
};

}  // namespace dt::run
