#include "parallel/tensor_seam.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt::parallel {

namespace {

class UnderWay final : public model::Exchange {
 public:
  UnderWay(comm::Work work, double& waited_s) : work_(std::move(work)), waited_s_(waited_s) {}
  void wait(const Context& context) override {
    const double started_s = monotonic_s();
    work_.wait(context);
    waited_s_ += monotonic_s() - started_s;
  }

 private:
  comm::Work work_;
  double& waited_s_;
};

}  // namespace

model::Share share_of(const model::Layout& layout, const model::Place& place) {
  return {place.tp, layout.tp, layout.sequence_parallel};
}

TensorSeam::TensorSeam(const model::Layout& layout, const model::Place& place, comm::Communicator* tensor,
                       int num_chunks)
    : Seam(share_of(layout, place)), tensor_(tensor), num_chunks_(num_chunks) {
  const int ranks = tensor ? tensor->size() : 1;
  DT_CHECK(ranks == layout.tp, "{} ranks to share layers that tp={} cuts", ranks, layout.tp);
}

model::ExchangeHandle TensorSeam::start_sum(const Tensor& partial_RC, const Tensor& local_LC) const {
  if (share().is_whole()) return Seam::start_sum(partial_RC, local_LC);
  return under_way(share().divides_rows ? tensor_->reduce_scatter(partial_RC, local_LC)
                                        : tensor_->all_reduce(partial_RC, local_LC));
}

model::ExchangeHandle TensorSeam::start_gather(const Tensor& local_LC, const Tensor& full_RC) const {
  return under_way(tensor_->all_gather(local_LC, full_RC));
}

model::ExchangeHandle TensorSeam::start_gather_each(const Tensor& own, const Tensor& all) const {
  return under_way(tensor_->all_gather(own, all));
}

model::ExchangeHandle TensorSeam::under_way(comm::Work work) const {
  return std::make_unique<UnderWay>(std::move(work), waited_s_);
}

}  // namespace dt::parallel
