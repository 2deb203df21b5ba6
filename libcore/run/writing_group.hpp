#pragma once
// Which ranks write the files of a checkpoint, and how the others' shares reach them.
//
// Each rank writes a file of its own, or the ranks of a node form groups with a file each, which a group's
// first rank writes. The others copy their shares into memory that it maps: no word passes between them while
// training goes on.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/writer.hpp"
#include "comm/communicator.hpp"
#include "comm/shared_memory.hpp"
#include "tensor/accelerator.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

namespace dt::run {

/// By rank, the number of the file that its share goes into. The ranks of each host, in their order, form
/// `per_host` groups of as many ranks to within one; where they are no more than that, each is alone. Files
/// are numbered in the order of their groups' first ranks.
std::vector<int> files_of(std::span<const std::string> hosts, std::int64_t per_host);

/// What ranks hold of the state that is saved.
struct StateShares {
  /// This rank's, now: views of memory that training changes.
  std::function<std::vector<checkpoint::SourcePiece>()> own;
  /// What any rank's consists of, always.
  std::function<std::vector<checkpoint::PieceSpec>(int rank)> of_rank;
  /// What changes it: its views lie on that one's device, and must outlive what is made of them.
  const Context& trained_by;
};

class WritingGroup {
 public:
  /// Called by all ranks together. Without `writers_per_node` each is alone. Takes the memory for a copy of
  /// this rank's share: where another writes it, where it is written `in_background`, or where it lies on a
  /// device. Errors, on all ranks: environment, where memory is short, or ranks of one host cannot share it.
  WritingGroup(comm::Communicator& world, const StateShares& shares,
               std::optional<std::int64_t> writers_per_node, bool in_background);

  int num_files() const { return num_files_; }
  /// The number of the group's file, and whether this rank writes it.
  int file() const { return file_; }
  bool writes() const { return writes_; }

  /// Whether copy() must be called even if the state does not change while it is written.
  bool needs_copy() const { return !writes_ || stream_; }
  /// By who makes the state change: the next copy() is of the state as it is after all that this thread has
  /// made the device do by now.
  void follow_training();
  /// Copies this rank's share, of which `pieces` become the copy. Where another rank writes it: once for each
  /// checkpoint, and not before the one before is committed. Any thread may call; blocks until it is copied.
  void copy(std::vector<checkpoint::SourcePiece>& pieces);
  /// Of the rank that writes, once for each checkpoint: waits until the others have copied theirs, and adds
  /// those to its own. `waiting` is called again and again meanwhile, and may throw.
  void collect(std::vector<checkpoint::SourcePiece>& pieces, const std::function<void()>& waiting);

 private:
  /// A rank whose share this one writes.
  struct Other {
    comm::SharedMemory memory;
    std::vector<checkpoint::SourcePiece> pieces;
  };
  void make_memory(std::span<const checkpoint::PieceSpec> share, bool in_background);
  void make_shared_memory(std::span<const checkpoint::PieceSpec> share);
  void copy_piece(const Tensor& from, const Tensor& to);
  void map_others(comm::Communicator& world, const StateShares& shares, std::span<const int> files);

  const Context& trained_by_;
  int num_files_ = 1;
  int file_ = 0;
  bool writes_ = true;
  Buffer own_memory_;                                // of one that writes
  std::optional<comm::SharedMemory> shared_memory_;  // of one that does not
  std::optional<PinnedMemory> pinned_;               // that memory, where a device copies into it
  comm::SharedMemory::Offer offer_;                  // of that
  std::vector<checkpoint::SourcePiece> copies_;      // in either
  std::optional<OwnStream> stream_;                  // of copies from a device
  std::uint64_t num_copied_ = 0;
  std::vector<Other> others_;
  std::uint64_t num_collected_ = 0;
};

}  // namespace dt::run
