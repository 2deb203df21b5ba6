#pragma once
// The places of one kind of the optimizer's state in a rank's memory.

#include <cstdint>
#include <vector>

#include "kernels/state_kind.hpp"
#include "parallel/state/local_table.hpp"

namespace dt::parallel {

using kernels::StateKind;

/// Returns the piece of a parameter's state that a rank holds: its owned piece, or the whole state if its
/// shape is not the parameter's. The piece has no elements if the parameter has no state of this kind.
Piece state_piece(const LocalTable& local, const LocalParam& param, const StateKind& kind);

/// The flat buffers of a kind of state, one for each group. A kind that all parameters have, in their shape,
/// lies as the weights do in the owned range of the group's buffer. Otherwise the buffer is packed: it has
/// the pieces that the rank holds, one after the other, each aligned as in a flat buffer.
/// Units: elements.
class StateLayout {
 public:
  StateLayout(const LocalTable& local, const StateKind& kind);

  /// Returns the size of the group's buffer; 0 if another stage holds the group's state.
  std::int64_t numel(int group) const { return numels_[to_index(group)]; }
  /// Returns whether the parameter has this kind of state.
  bool covers(const LocalParam& param) const { return offsets_[to_index(param.param)] >= 0; }
  /// Returns the offset of the piece of the parameter's state that the rank holds.
  std::int64_t offset(const LocalParam& param) const { return offsets_[to_index(param.param)]; }

 private:
  std::vector<std::int64_t> numels_;   // by local group
  std::vector<std::int64_t> offsets_;  // by index into the parameter table; −1: no state
};

}  // namespace dt::parallel
