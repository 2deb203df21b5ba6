#include "parallel/tensor_seam.hpp"

#include <utility>

#include "base/error.hpp"

namespace dt::parallel {

namespace {

class UnderWay final : public model::Exchange {
 public:
  UnderWay(comm::Work work, const Groups& groups) : work_(std::move(work)), groups_(groups) {}
  void wait(const Context& context) override {
    groups_.exposed().of([&] { work_.wait(context); });
  }
  void wait_host() {
    groups_.exposed().of([&] { work_.wait_host(); });
  }

 private:
  comm::Work work_;
  const Groups& groups_;
};

}  // namespace

model::Share share_of(const model::Layout& layout, const model::Place& place) {
  return {place.tp, layout.tp, layout.sequence_parallel, place.cp, layout.cp};
}

TensorSeam::TensorSeam(const model::Layout& layout, const model::Place& place, const Groups& groups,
                       int num_chunks)
    : Seam(share_of(layout, place)),
      groups_(groups),
      tensor_(groups.tensor()),
      context_(groups.context()),
      num_chunks_(num_chunks) {
  const auto size = [](const comm::Communicator* ranks) { return ranks ? ranks->size() : 1; };
  DT_CHECK(size(tensor_) == layout.tp && size(context_) == layout.cp,
           "{} ranks to share layers that tp={} cuts, {} to divide sequences for cp={}", size(tensor_),
           layout.tp, size(context_), layout.cp);
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

model::ExchangeHandle TensorSeam::start_shift(const Tensor& own, const Tensor& arriving) const {
  const int rank = context_->rank(), size = context_->size();
  return under_way(context_->send_receive((rank + 1) % size, own, (rank + size - 1) % size, arriving));
}

model::ExchangeHandle TensorSeam::under_way(comm::Work work) const {
  auto exchange = std::make_unique<UnderWay>(std::move(work), groups_);
  if (!overlaps_) exchange->wait_host();
  return exchange;
}

}  // namespace dt::parallel
