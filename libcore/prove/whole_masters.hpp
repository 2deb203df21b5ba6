#pragma once
// A model's parameters, wherever they lie, put together on rank 0.

#include <functional>
#include <map>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/model_storage.hpp"
#include "tensor/host_copy.hpp"

namespace dt::prove {

/// From the pieces that each rank answers for, as a checkpoint would have them.
class WholeMasters {
 public:
  /// All must outlive it.
  WholeMasters(const Context& context, const parallel::ModelStorage& storage, comm::Communicator& world);

  /// Called by all ranks together: `look` at one parameter after the other, in the order of the table, on
  /// rank 0 alone; the tensor is gone with the next.
  void visit(const std::function<void(const Tensor& whole)>& look);

 private:
  struct Holding {
    int rank;
    Piece piece;
  };
  /// This rank's, in the order of the table.
  std::vector<parallel::OwnedPiece> owned(const parallel::LocalTable& local) const;
  OnHost values_of(const parallel::OwnedPiece& own) const;
  void send_all() const;
  Tensor assemble(int param);
  void add(const Holding& holding, int param, const Tensor& whole) const;

  const Context& context_;
  const parallel::ModelStorage& storage_;
  const parallel::LocalTable& local_;
  comm::Communicator& world_;
  DType dtype_;
  std::map<int, std::vector<Holding>> holdings_;  // on rank 0, by parameter
  Buffer whole_;
};

}  // namespace dt::prove
