#include "train/state_io.hpp"

#include <array>

#include "checkpoint/share.hpp"
#include "parallel/local_table.hpp"

namespace dt::train {

std::vector<checkpoint::SourcePiece> pieces_of(const parallel::ModelStorage& storage) {
  const model::ParameterTable& table = storage.table();
  std::vector<checkpoint::SourcePiece> pieces;
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const model::ParamSpec& param = table.params()[p];
    const int index = static_cast<int>(p), group = table.group_of(index);
    const Piece piece = storage.piece_of(index);
    if (piece.numel() == 0) continue;
    const auto add = [&](const char* kind, const Tensor& part) {
      pieces.push_back({param.name, kind, piece, storage.param_in(part, index)});
    };
    add(checkpoint::kind_weights, storage.group_masters(group));
    add(checkpoint::kind_first_moment, storage.group_first_moment(group));
    add(checkpoint::kind_second_moment, storage.group_second_moment(group));
  }
  return pieces;
}

std::vector<checkpoint::SourcePiece> share_of_state(const parallel::ModelStorage& storage) {
  const comm::Communicator* replicas = storage.sharding().replicas;
  return checkpoint::share_of(pieces_of(storage), replicas ? replicas->rank() : 0,
                              replicas ? replicas->size() : 1);
}

std::vector<checkpoint::PieceSpec> share_of_rank(const parallel::ModelStorage& storage, int rank,
                                                 int num_ranks) {
  constexpr std::array kinds = {checkpoint::kind_weights, checkpoint::kind_first_moment,
                                checkpoint::kind_second_moment};
  const parallel::Division division = storage.division();
  const bool is_divided = division.divides_optimizer();
  const parallel::Mesh mesh{
      .dp = num_ranks, .zero = is_divided ? division.stage : 0, .zero_group = is_divided ? division.size : 0};
  const DType dtype = storage.precision().master();
  std::array<std::size_t, kinds.size()> kind_bytes{};
  kind_bytes.fill(dtype_bytes(dtype));
  std::vector<checkpoint::PieceSpec> share;
  const parallel::LocalTable local(storage.table(), mesh, mesh.place_of(rank));
  for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, kind_bytes)) {
    share.push_back({local.name(own.param), kinds[static_cast<std::size_t>(own.kind)], own.piece, dtype});
  }
  return share;
}

void load_state(const Context& context, const checkpoint::Reader& reader, parallel::ModelStorage& storage) {
  const model::ParameterTable& table = storage.table();
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    const model::ParamSpec& param = table.params()[p];
    const int index = static_cast<int>(p), group = table.group_of(index);
    const Piece piece = storage.piece_of(index);
    if (piece.numel() == 0) continue;
    const auto read = [&](const char* kind, const Tensor& values) {
      reader.read(kind, param.name, piece, values);
    };
    storage.set_weights(context, index,
                        [&](const Piece&, const Tensor& values) { read(checkpoint::kind_weights, values); });
    read(checkpoint::kind_first_moment, storage.param_in(storage.group_first_moment(group), index));
    read(checkpoint::kind_second_moment, storage.param_in(storage.group_second_moment(group), index));
  }
}

}  // namespace dt::train
