#pragma once
// Describes what one rank holds of a model: its units and groups of parameters, its shard of each
// parameter, the place in memory, and the owner. This is arithmetic alone: no rank needs to exist.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/numeric/integer.hpp"
#include "model/parameter_table.hpp"
#include "parallel/state/mesh.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// A parameter in its group's flat buffer. The buffer holds the rank's shard of it, which units
/// compute with. The rank's owned range of the buffer, which its optimizer updates, holds some of that
/// shard.
struct LocalParam {
  int param = 0;                  // index into the parameter table
  int group = 0;                  // index into LocalTable::groups()
  Piece piece;                    // shard of the global parameter
  std::int64_t offset = 0;        // offset of the shard in the buffer, in elements
  Piece owned_piece;              // part of the shard in the owned range; may be empty
  std::int64_t owned_offset = 0;  // offset of `owned_piece` within the owned range
  bool is_owned = false;          // only the rank and its replicas count it: norm, checkpoint

  /// Returns the elements of the shard that lie in a range of the buffer; may be none.
  Piece piece_within(const Range& part) const;
  /// Returns the shard in the group's flat buffer, in the shard's shape.
  Tensor view_in_full(const Tensor& whole) const;
  /// Returns `owned_piece` in the rank's owned range of the buffer: flat, or in the shard's shape if it is
  /// the whole shard.
  Tensor view_in_shard(const Tensor& own_shard) const;
};

/// A run that becomes a whole gradient only by a sum over tensor-parallel ranks. It lies at the same
/// place on all of them.
struct TensorSumRange {
  TensorSum over = TensorSum::none;
  Range range = {0, 0};
  bool operator==(const TensorSumRange&) const = default;
};

struct LocalGroup {
  int group = 0;             // index into the parameter table's groups
  std::vector<int> params;   // indices into LocalTable::params(), in the buffer's order
  std::int64_t numel = 0;    // elements of the flat buffer, padding included
  std::vector<int> holders;  // this rank's units that compute with it, in order
  /// If true, the optimizer's state is here, with the unit that owns the group (for a tied table the
  /// first). The other end of a tied table sends its sum there, and receives the updated weights from
  /// there.
  bool has_state = false;
  model::ReductionAxis reduction = model::ReductionAxis::data;  // ranks that sum its gradients
  ZeroSharding sharding;  // sharding of the flat buffer among some of these ranks
  int replica = 0;        // index among the ranks that own the same elements
  int num_replicas = 1;
  /// If true, the ranks that divide the state sum gradients among themselves, and replicas sum the
  /// shards at the step's end. Otherwise all ranks of the reduction sum together.
  bool sums_replicas_last = false;
  Range owned_range = {0, 0};  // this rank's range of the flat buffer
  /// Runs of `own` that only the rank and its replicas count, padding included.
  std::vector<Range> counted_ranges;
  /// Runs of `own`, padding included, in order.
  std::vector<TensorSumRange> tensor_sums;

  std::int64_t state_numel() const { return has_state ? owned_range.count : 0; }
};

/// The table of one rank. With one stage and no tensor parallelism it is the parameter table.
class LocalTable {
 public:
  /// `table` must outlive it.
  /// Errors: internal, the stages do not hold each unit once, or `ep` does not divide the experts.
  LocalTable(const model::ParameterTable& table, const model::Layout& layout,
             const model::MeshCoordinates& place);

  const model::ParameterTable& table() const { return table_; }
  const model::Layout& layout() const { return layout_; }
  const model::MeshCoordinates& place() const { return place_; }

  /// Returns the global numbers of this rank's units, in order.
  const std::vector<int>& units() const { return units_; }
  bool holds(int unit) const { return !unit_groups_.at(to_index(unit)).empty(); }
  /// Returns the groups, in the order of the parameter table's.
  const std::vector<LocalGroup>& groups() const { return groups_; }
  const LocalGroup& group(int local) const { return groups_[to_index(local)]; }
  /// Returns the parameters, in the order of the parameter table's.
  const std::vector<LocalParam>& params() const { return params_; }
  const LocalParam& param(int local) const { return params_[to_index(local)]; }
  const model::ParamSpec& spec(const LocalParam& param) const {
    return table_.params()[to_index(param.param)];
  }
  const std::string& name(int local) const { return spec(param(local)).name; }

  /// Return what a unit computes with, as local indices: groups, each once, in ascending order, and
  /// parameters in UnitSpec::params order.
  /// Errors: internal, this rank does not hold the unit.
  const std::vector<int>& groups_of(int unit) const;
  const std::vector<int>& params_of(int unit) const;

  /// Returns whether another stage has the other end of a tied table, and this rank its state.
  bool has_remote_tied_end(const LocalGroup& group) const;
  /// Returns the local group of a table that both the first and the last unit hold, or −1 if there is
  /// none here.
  int tied_group() const;

  /// Returns whether ranks divide gradients, and so sum them after each micro-batch. A group of
  /// experts may have too few ranks to be divided.
  bool shards_gradients() const;
  /// Return whether this rank counts its micro-batches' samples, targets or loss. Of the ranks that
  /// compute a micro-batch, one counts its samples, at the embedding, and one its targets, at the head.
  /// The loss counts at the head, on one tensor-parallel rank for each part of a sequence. So do
  /// auxiliary losses, at their units.
  bool counts_samples() const { return place_.tp == 0 && place_.cp == 0 && holds(0); }
  bool counts_targets() const { return place_.cp == 0 && counts_loss(); }
  bool counts_auxiliary_losses() const { return place_.tp == 0; }
  bool counts_loss() const { return place_.tp == 0 && holds(static_cast<int>(unit_groups_.size()) - 1); }

 private:
  void find_groups();
  void find_params();
  model::FlatLayout flat_layout(const LocalGroup& group) const;
  void lay_out_group(LocalGroup& group);

  const model::ParameterTable& table_;
  model::Layout layout_;
  model::MeshCoordinates place_;
  std::vector<int> units_;
  std::vector<LocalGroup> groups_;
  std::vector<LocalParam> params_;
  std::vector<std::vector<int>> unit_groups_;  // by global unit; empty for units that are not held
  std::vector<std::vector<int>> unit_params_;
};

/// A piece of a parameter, in the kind of state with index `kind`.
struct OwnedPiece {
  int param = 0;  // index into LocalTable::params()
  int kind = 0;
  Piece piece;
  bool operator==(const OwnedPiece&) const = default;
};

/// Returns what a rank writes of the model's state into a checkpoint. State has kind_bytes.size()
/// kinds (weights and each moment). The elements of the i-th kind have
/// kind_bytes[i] bytes. Over all ranks of the mesh, each element of each kind has one owner. The
/// owner is on the stage of its group's owner unit (for a tied table the first). Of the tp ranks
/// that hold its shard, it is the first. Among the ranks of its group's reduction, it is the one
/// whose ZeRO shard has the element. Replicas divide by bytes the state that they all hold. The pieces are
/// sorted by parameter, then kind; none is empty. `held`, if present, returns the piece of a parameter's
/// state of a kind that a rank holds, as state_piece() does. Without `held`, it is the owned piece. State
/// whose shape is not the parameter's is whole on all ranks, and the owner of the parameter's first element
/// owns it.
using HeldState = std::function<Piece(const LocalParam& param, std::size_t kind)>;
std::vector<OwnedPiece> owned_pieces(const LocalTable& local, std::span<const std::size_t> kind_bytes,
                                     const HeldState& held = {});

}  // namespace dt::parallel
