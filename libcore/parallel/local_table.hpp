#pragma once
// What one rank holds of a model: which units and groups of parameters, which slice of each parameter, where
// it lies in memory and who answers for it. Only arithmetic: no rank needs to exist.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/parameter_table.hpp"
#include "parallel/index.hpp"
#include "parallel/mesh.hpp"
#include "parallel/sharding.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::parallel {

/// A parameter in its group's flat buffer. There lies the rank's slice of it (all that units compute with),
/// and within the rank's own part of the buffer (what its optimizer updates), some of that.
struct LocalParam {
  int param = 0;                 // index into the parameter table
  int group = 0;                 // index into LocalTable::groups()
  Piece slice;                   // of the global parameter
  std::int64_t offset = 0;       // of the slice in the buffer, in elements
  Piece part;                    // of the slice in the own part; may be empty
  std::int64_t part_offset = 0;  // of that within the own part
  bool is_owned = false;         // the rank and its replicas alone answer for it: norm, checkpoint

  /// In the group's flat buffer, in the slice's shape.
  Tensor in_whole(const Tensor& whole) const;
  /// In the rank's own part of it: flat, or in the slice's shape where that is all of it.
  Tensor in_part(const Tensor& own_part) const;
};

/// What becomes a whole gradient only by a sum over tensor-parallel ranks, on all of which it lies alike.
struct TensorSumRun {
  TensorSum over = TensorSum::none;
  Part run = {0, 0};
  bool operator==(const TensorSumRun&) const = default;
};

struct LocalGroup {
  int group = 0;             // index into the parameter table's
  std::vector<int> params;   // indices into LocalTable::params(), in the buffer's order
  std::int64_t numel = 0;    // of the flat buffer, padding included
  std::vector<int> holders;  // those of this rank's units that compute with it, in order
  /// The optimizer's, where the unit that owns the group is (a tied table's: the first); what the other end
  /// of a tied table sums goes there, and what is updated comes from there.
  bool has_state = false;
  Division division;  // of the flat buffer among ranks
  Part own = {0, 0};  // of the flat buffer: this rank's part
  /// Runs of `own` that the rank and its replicas alone answer for, padding included.
  std::vector<Part> counted;
  /// Runs of `own`, padding included, in order.
  std::vector<TensorSumRun> tensor_sums;

  std::int64_t state_numel() const { return has_state ? own.count : 0; }
};

/// With one stage and no tensor parallelism: the parameter table as it is.
class LocalTable {
 public:
  /// `table` must outlive it. Error{internal}: stages that do not hold each unit once.
  LocalTable(const model::ParameterTable& table, const model::Layout& layout, const model::Place& place);

  const model::ParameterTable& table() const { return table_; }
  const model::Layout& layout() const { return layout_; }
  const model::Place& place() const { return place_; }

  /// Global numbers, in order.
  const std::vector<int>& units() const { return units_; }
  bool holds(int unit) const { return !unit_groups_.at(at(unit)).empty(); }
  /// In the order of the parameter table's.
  const std::vector<LocalGroup>& groups() const { return groups_; }
  const LocalGroup& group(int local) const { return groups_[at(local)]; }
  /// In the order of the parameter table's.
  const std::vector<LocalParam>& params() const { return params_; }
  const LocalParam& param(int local) const { return params_[at(local)]; }
  const model::ParamSpec& spec(const LocalParam& param) const { return table_.params()[at(param.param)]; }
  const std::string& name(int local) const { return spec(param(local)).name; }

  /// What a unit computes with: groups, each once, in ascending order, and parameters in UnitSpec::params
  /// order. Local indices. Error{internal}: a unit that this rank does not hold.
  const std::vector<int>& groups_of(int unit) const;
  const std::vector<int>& params_of(int unit) const;

  /// Whether another stage has the other end of a tied table, and this rank its state.
  bool has_end_elsewhere(const LocalGroup& group) const;
  /// The local group of a table that the first and the last unit hold both; none here: −1.
  int tied_group() const;

  /// Of the ranks that own the same, which one this is.
  int replica() const { return layout_.replica_of(place_); }
  int num_replicas() const { return layout_.num_replicas(); }
  /// Whether this rank answers for its micro-batches' samples, and for their loss: one rank of those that
  /// compute them, where the embedding and where the head is.
  bool counts_samples() const { return place_.tp == 0 && place_.cp == 0 && holds(0); }
  bool counts_targets() const { return place_.cp == 0 && counts_loss(); }
  bool counts_loss() const { return place_.tp == 0 && holds(static_cast<int>(unit_groups_.size()) - 1); }

 private:
  void find_groups();
  void find_params();
  model::FlatLayout flat_layout(const LocalGroup& group) const;
  void lay_out(LocalGroup& group);

  const model::ParameterTable& table_;
  model::Layout layout_;
  model::Place place_;
  std::vector<int> units_;
  std::vector<LocalGroup> groups_;
  std::vector<LocalParam> params_;
  std::vector<std::vector<int>> unit_groups_;  // by global unit; of those that are not held, empty
  std::vector<std::vector<int>> unit_params_;
};

/// A piece of a parameter, in the kind of state with index `kind`.
struct OwnedPiece {
  int param = 0;  // index into LocalTable::params()
  int kind = 0;
  Piece piece;
  bool operator==(const OwnedPiece&) const = default;
};

/// What a rank writes of the model's state into a checkpoint. There are kind_bytes.size() kinds of state
/// alike (weights and each moment), the elements of the i-th of kind_bytes[i] bytes. Over all ranks of the
/// mesh each element of each kind is owned once: by the stage of its group's owner unit (a tied table: the
/// first), by the first of the tp ranks that hold its slice, by the dp rank whose ZeRO part it is in; what
/// replicas hold alike, they share by bytes. Sorted by parameter, then kind; none is empty.
std::vector<OwnedPiece> owned_pieces(const LocalTable& local, std::span<const std::size_t> kind_bytes);

}  // namespace dt::parallel
