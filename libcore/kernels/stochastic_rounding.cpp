#include "kernels/stochastic_rounding.hpp"

#include "base/error.hpp"

namespace dt::kernels {

ElementIndices element_indices(std::int64_t parameter, const Piece& piece) {
  int split = piece.global.rank() - 1;  // the last dim that the box does not cover as a whole
  while (split > 0 && piece.box[split] == piece.global[split]) --split;
  ElementIndices indices{.parameter = parameter, .begin = piece.begin, .row = 1, .stride = 1};
  bool is_part = false;
  for (int d = piece.global.rank() - 1; d >= 0; --d) {
    if (d >= split) indices.row *= piece.box[d];
    DT_CHECK(d >= split || !is_part || piece.box[d] == 1, "the box {} of {} has rows of several strides",
             piece.box.to_string(), piece.global.to_string());
    if (d < split && piece.box[d] != piece.global[d]) is_part = true;
  }
  std::int64_t distance = 1;  // distance of neighbouring elements along dim d
  for (int d = piece.global.rank() - 1; d >= 0; --d) {
    indices.first += piece.start[static_cast<std::size_t>(d)] * distance;
    distance *= piece.global[d];
    if (d == split) indices.stride = distance;
  }
  return indices;
}

}  // namespace dt::kernels
