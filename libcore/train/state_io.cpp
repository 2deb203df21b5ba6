#include "train/state_io.hpp"

namespace dt::train {

namespace {

/// Calls visit(param, kind, its part of the storage) for everything that a checkpoint holds.
template <class Visit>
void for_each_tensor(const parallel::ModelStorage& storage, const Visit& visit) {
  const model::ParameterTable& table = storage.table();
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const int param = static_cast<int>(p);
    const int group = table.group_of(param);
    visit(table.params()[p], checkpoint::kind_weights, storage.param_in(storage.group_weights(group), param));
    visit(table.params()[p], checkpoint::kind_first_moment,
          storage.param_in(storage.group_first_moment(group), param));
    visit(table.params()[p], checkpoint::kind_second_moment,
          storage.param_in(storage.group_second_moment(group), param));
  }
}

}  // namespace

std::vector<checkpoint::SourcePiece> pieces_of(const parallel::ModelStorage& storage) {
  std::vector<checkpoint::SourcePiece> pieces;
  for_each_tensor(storage, [&](const model::ParamSpec& param, const char* kind, const Tensor& values) {
    pieces.push_back({param.name, kind, Piece::whole(param.shape), values});
  });
  return pieces;
}

void load_state(const checkpoint::Reader& reader, parallel::ModelStorage& storage) {
  for_each_tensor(storage, [&](const model::ParamSpec& param, const char* kind, const Tensor& values) {
    reader.read(kind, param.name, Piece::whole(param.shape), values);
  });
}

}  // namespace dt::train
