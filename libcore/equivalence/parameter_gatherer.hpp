#pragma once
// Gathers a model's parameters, and the average of its weights, on rank 0 from the ranks that own them.

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/state/model_storage.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::equivalence {

/// Assembles parameters on rank 0 from the pieces that each rank owns, as a checkpoint would have them.
class ParameterGatherer {
 public:
  /// The arguments must outlive the object.
  ParameterGatherer(const Context& context, const parallel::ModelStorage& storage, comm::Communicator& world);

  /// Calls `look` on rank 0 for each parameter, in the order of the table. If the storage has an average of
  /// the weights, the averages of all parameters follow in the same order. The tensor is valid only during
  /// the call.
  /// Collective: all ranks call it.
  void visit(const std::function<void(const Tensor& whole)>& look);

 private:
  struct RankPiece {
    int rank;
    Piece piece;
  };
  /// Returns the pieces that a rank owns, in the order of the table.
  std::vector<parallel::OwnedPiece> owned(const parallel::LocalTable& local) const;
  /// Returns a group's masters, or their average while averages are gathered.
  Tensor source_of(int group) const;
  HostMirror values_of(const parallel::OwnedPiece& own) const;
  void visit_source(const std::function<void(const Tensor& whole)>& look);
  void send_all() const;
  Tensor assemble(int param);
  void add(const RankPiece& rank_piece, int param, const Tensor& whole) const;

  const Context& context_;
  const parallel::ModelStorage& storage_;
  const parallel::LocalTable& local_;
  comm::Communicator& world_;
  DType dtype_;
  std::optional<std::size_t> average_kind_;                // present while averages are gathered
  std::map<int, std::vector<RankPiece>> pieces_of_param_;  // on rank 0, by parameter
  Buffer whole_;
};

}  // namespace dt::equivalence
