#include "parallel/flat.hpp"

namespace dt::parallel {

std::vector<int> groups_of(const model::ParameterTable& table, int unit) {
  std::vector<int> groups;
  for (const int param : table.units()[at(unit)].params) groups.push_back(table.group_of(param));
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

std::int64_t offset_of(const model::ParameterTable& table, int param) {
  const model::GroupSpec& spec = table.groups()[at(table.group_of(param))];
  const auto place = std::find(spec.params.begin(), spec.params.end(), param) - spec.params.begin();
  return spec.offsets[static_cast<std::size_t>(place)];
}

Tensor param_in(const model::ParameterTable& table, const Tensor& whole, int param) {
  const Shape& shape = table.params()[at(param)].shape;
  return whole.flat(offset_of(table, param), shape.numel()).reshaped(shape);
}

Piece held_of(Piece piece, std::int64_t offset, const comm::Part& part) {
  const std::int64_t shift = piece.begin - offset;
  const std::int64_t end = std::clamp(part.begin + part.count + shift, piece.begin, piece.end);
  piece.begin = std::clamp(part.begin + shift, piece.begin, piece.end);
  piece.end = std::max(piece.begin, end);
  return piece;
}

}  // namespace dt::parallel
