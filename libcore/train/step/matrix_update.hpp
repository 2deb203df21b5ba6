#pragma once
// The update of whole matrices by Muon, whose work the ranks of a stage divide.

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "optim/optimizer.hpp"
#include "parallel/state/matrix_plan.hpp"
#include "parallel/state/model_storage.hpp"
#include "tensor/context.hpp"

namespace dt::train {

/// Updates a storage's matrices of blocks. Each rank updates the momentum of the elements that it holds. The
/// owner of a matrix gathers its direction, makes it orthogonal and sends each rank its elements, by which
/// that rank changes its weights.
/// Numerics: equal gradients give equal bits in any layout, since an owner has the whole matrix, and nothing
/// else depends on more than one element.
class MatrixUpdate {
 public:
  /// Both references must outlive the object. The storage has the state of optim::OptimizerKind::muon.
  /// Errors: internal, there are several ranks in the stage and Groups::stage() is absent.
  MatrixUpdate(const Context& context, parallel::ModelStorage& storage);

  /// Makes one update of all matrices. Gradients must be complete.
  /// Collective: the ranks of the stage.
  void run(const kernels::OptimizerStep& step);

  const parallel::MatrixPlan& plan() const { return plan_; }

 private:
  /// The elements of a matrix that this rank holds.
  struct HeldPart {
    const parallel::PlannedMatrix* matrix = nullptr;
    Piece piece;
    Tensor direction;  // absent if no owner needs it from this rank
  };
  class Exchange;

  void run_round(const kernels::OptimizerStep& step, const std::vector<parallel::PlannedMatrix>& round);
  std::vector<HeldPart> update_momenta(const kernels::OptimizerStep& step,
                                       const std::vector<parallel::PlannedMatrix>& round);
  /// Returns the whole direction of the matrix that this rank owns, or an absent tensor if it owns none.
  Tensor gather_direction(const std::vector<HeldPart>& parts,
                          const std::vector<parallel::PlannedMatrix>& round) const;
  /// Returns the elements of the update that a piece holds: a view, or a copy if they are not consecutive.
  Tensor elements_for(const Piece& held, const parallel::PlannedMatrix& matrix,
                      const Tensor& update_RC) const;
  void send_update(const parallel::PlannedMatrix& matrix, const Tensor& update_RC, Exchange& exchange) const;
  void update_weights(const kernels::OptimizerStep& step, const std::vector<HeldPart>& parts,
                      std::span<const parallel::PlannedMatrix> matrices, const Tensor& update_RC) const;
  void apply(const kernels::OptimizerStep& step, const HeldPart& part, const Tensor& update) const;
  /// Returns the elements of the part, in flat storage that has the parameter's owned piece at `offset`.
  Tensor elements_of(const HeldPart& part, const Tensor& flat, std::int64_t offset) const;
  Tensor allocate(const Shape& shape) const;

  const Context& context_;
  parallel::ModelStorage& storage_;
  parallel::MatrixPlan plan_;
  std::size_t momentum_kind_;
};

}  // namespace dt::train
