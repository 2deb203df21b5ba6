#include "train/state_io.hpp"

namespace dt::train {

std::vector<checkpoint::SourcePiece> pieces_of(const parallel::ModelStorage& storage) {
  const model::ParameterTable& table = storage.table();
  std::vector<checkpoint::SourcePiece> pieces;
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const model::ParamSpec& param = table.params()[p];
    const int index = static_cast<int>(p), group = table.group_of(index);
    const auto add = [&](const char* kind, const Tensor& flat) {
      pieces.push_back({param.name, kind, Piece::whole(param.shape), storage.param_in(flat, index)});
    };
    add(checkpoint::kind_weights, storage.group_masters(group));
    add(checkpoint::kind_first_moment, storage.group_first_moment(group));
    add(checkpoint::kind_second_moment, storage.group_second_moment(group));
  }
  return pieces;
}

void load_state(const Context& context, const checkpoint::Reader& reader, parallel::ModelStorage& storage) {
  const model::ParameterTable& table = storage.table();
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const model::ParamSpec& param = table.params()[p];
    const int index = static_cast<int>(p), group = table.group_of(index);
    const auto read = [&](const char* kind, const Tensor& values) {
      reader.read(kind, param.name, Piece::whole(param.shape), values);
    };
    storage.set_weights(context, index,
                        [&](const Tensor& values) { read(checkpoint::kind_weights, values); });
    read(checkpoint::kind_first_moment, storage.param_in(storage.group_first_moment(group), index));
    read(checkpoint::kind_second_moment, storage.param_in(storage.group_second_moment(group), index));
  }
}

}  // namespace dt::train
