#pragma once
// Implements the exchanges of tensor-parallel and context-parallel ranks.

#include "comm/communicator.hpp"
#include "model/layout.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "parallel/state/groups.hpp"

namespace dt::parallel {

/// Sums and gathers over the tensor-parallel ranks of `groups`, in their order. Passes keys and
/// values around the ring of their context-parallel ranks.
class CommTensorParallelOps final : public model::TensorParallelOps {
 public:
  /// The groups must outlive this object.
  CommTensorParallelOps(const model::Layout& layout, const model::MeshCoordinates& place,
                        const Groups& groups, int num_chunks = 1);

  model::PendingCollectiveHandle start_reduce(const Tensor& partial_RC,
                                              const Tensor& local_LC) const override;
  model::PendingCollectiveHandle start_all_gather_rows(const Tensor& local_LC,
                                                       const Tensor& full_RC) const override;
  model::PendingCollectiveHandle start_all_gather(const Tensor& own, const Tensor& all) const override;
  model::PendingCollectiveHandle start_ring_shift(const Tensor& own, const Tensor& arriving) const override;
  int num_chunks() const override { return num_chunks_; }

  /// Sets whether exchanges overlap. If off, every exchange is finished before this rank continues
  /// to compute.
  void set_overlap(bool value) { overlaps_ = value; }

 private:
  /// Returns the handle of started work. Without overlap, waits for it first.
  model::PendingCollectiveHandle make_handle(comm::Work work) const;

  const Groups& groups_;
  comm::Communicator* tensor_;
  comm::Communicator* context_;
  int num_chunks_;
  bool overlaps_ = true;
};

}  // namespace dt::parallel
