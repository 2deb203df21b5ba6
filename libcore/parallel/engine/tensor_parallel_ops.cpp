#include "parallel/engine/tensor_parallel_ops.hpp"

#include <utility>

#include "base/error.hpp"
#include "parallel/state/mesh.hpp"

namespace dt::parallel {

namespace {

class UnderWay final : public model::PendingCollective {
 public:
  UnderWay(comm::Work work, const Groups& groups) : work_(std::move(work)), groups_(groups) {}
  void wait(const Context& context) override {
    groups_.exposed_time().measure([&] { work_.wait(context); });
  }
  void wait_host() {
    groups_.exposed_time().measure([&] { work_.wait_host(); });
  }

 private:
  comm::Work work_;
  const Groups& groups_;
};

}  // namespace

CommTensorParallelOps::CommTensorParallelOps(const model::Layout& layout, const model::MeshCoordinates& place,
                                             const Groups& groups, int num_chunks)
    : TensorParallelOps(tensor_parallel_shard(layout, place)),
      groups_(groups),
      tensor_(groups.tensor()),
      context_(groups.context()),
      num_chunks_(num_chunks) {
  const auto size = [](const comm::Communicator* ranks) { return ranks ? ranks->size() : 1; };
  DT_CHECK(size(tensor_) == layout.tp && size(context_) == layout.cp,
           "{} ranks to share layers that tp={} cuts, {} to divide sequences for cp={}", size(tensor_),
           layout.tp, size(context_), layout.cp);
}

model::PendingCollectiveHandle CommTensorParallelOps::start_reduce(const Tensor& partial_RC,
                                                                   const Tensor& local_LC) const {
  if (shard().is_whole()) return TensorParallelOps::start_reduce(partial_RC, local_LC);
  return make_handle(shard().sequence_parallel ? tensor_->reduce_scatter(partial_RC, local_LC)
                                               : tensor_->all_reduce(partial_RC, local_LC));
}

model::PendingCollectiveHandle CommTensorParallelOps::start_all_gather_rows(const Tensor& local_LC,
                                                                            const Tensor& full_RC) const {
  return make_handle(tensor_->all_gather(local_LC, full_RC));
}

model::PendingCollectiveHandle CommTensorParallelOps::start_all_gather(const Tensor& own,
                                                                       const Tensor& all) const {
  return make_handle(tensor_->all_gather(own, all));
}

model::PendingCollectiveHandle CommTensorParallelOps::start_ring_shift(const Tensor& own,
                                                                       const Tensor& arriving) const {
  const int rank = context_->rank(), size = context_->size();
  return make_handle(context_->send_receive((rank + 1) % size, own, (rank + size - 1) % size, arriving));
}

model::PendingCollectiveHandle CommTensorParallelOps::make_handle(comm::Work work) const {
  auto exchange = std::make_unique<UnderWay>(std::move(work), groups_);
  if (!overlaps_) exchange->wait_host();
  return exchange;
}

}  // namespace dt::parallel
