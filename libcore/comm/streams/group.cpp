#include "comm/streams/group.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/combine.hpp"
#include "kernels/elementwise.hpp"

namespace dt::comm {

namespace {
// Fewer bytes of all ranks are exchanged once and combined by everyone, rather than twice.
constexpr std::size_t most_small_bytes = std::size_t{256} << 10;
}  // namespace

StreamGroup::StreamGroup(std::unique_ptr<StreamTransport> transport, ReduceOrder order,
                         std::size_t staging_bytes, const std::string& name, std::function<void()> meanwhile)
    : transport_(std::move(transport)),
      order_(order),
      rank_(transport_->rank()),
      size_(transport_->size()),
      staging_bytes_(std::max(staging_bytes, static_cast<std::size_t>(size_) * line_bytes)),
      context_(transport_->device(), "communicating in group " + name),
      ahead_(context_.stream()),
      meanwhile_(std::move(meanwhile)) {
  transport_->set_meanwhile(meanwhile_);
}

/// For one more exchange, and what it takes to combine or to copy what came.
Stream StreamGroup::paced() {
  ahead_.next(meanwhile_);
  return stream();
}

void StreamGroup::exchange(const Transfers& transfers) {
  Transfers some = transfers;
  std::erase_if(some, [](const auto& transfer) { return transfer.data.numel() == 0; });
  if (!some.empty()) transport_->exchange(paced(), some);
}

void StreamGroup::copy(const Tensor& from, const Tensor& to) {
  if (from.numel() > 0 && from.raw() != to.raw()) kernels::copy(context_, from, to);
}

/// n − 1 of them, each with room for so many elements.
Tensor StreamGroup::slots(DType dtype, std::int64_t numel) {
  if (staging_.bytes() == 0) staging_ = Buffer(context_.device(), staging_bytes_);
  return Tensor(staging_, dtype, {size_ - 1, numel});
}

/// Whole cache lines.
std::int64_t StreamGroup::most_in_slots(const Tensor& tensor) const {
  const std::size_t bytes = staging_bytes_ / static_cast<std::size_t>(std::max(size_ - 1, 1));
  return elements_of(bytes / line_bytes * line_bytes, tensor);
}

/// Of parts that fit into slots.
void StreamGroup::reduce_part(const Tensor& in, const Tensor& own_out, Reduction reduction,
                              const PartOf& parts) {
  const Part own = parts(rank_);
  const Tensor others = slots(in.dtype(), own.count);
  Transfers transfers;
  for (int distance = 1; distance < size_; ++distance) {
    const int to = (rank_ + distance) % size_, from = (rank_ - distance + size_) % size_;
    const int slot = from < rank_ ? from : from - 1;
    transfers.push_back({to, cut(in, parts(to)), true});
    transfers.push_back({from, others.flat(slot * own.count, own.count), false});
  }
  exchange(transfers);
  if (own.count > 0) kernels::combine_ranks(context_, reduction, {cut(in, own), rank_, others}, own_out);
}

void StreamGroup::gather_parts(const Tensor& mine, const Tensor& out, const PartOf& parts) {
  Transfers transfers;
  for (int distance = 1; distance < size_; ++distance) {
    const int to = (rank_ + distance) % size_, from = (rank_ - distance + size_) % size_;
    transfers.push_back({to, mine, true});
    transfers.push_back({from, cut(out, parts(from)), false});
  }
  exchange(transfers);
  copy(mine, cut(out, parts(rank_)));
}

void StreamGroup::reduce_small(const Tensor& in, const Tensor& out, Reduction reduction) {
  const std::int64_t N = in.numel();
  const Tensor others = slots(in.dtype(), N);
  Transfers transfers;
  for (int distance = 1; distance < size_; ++distance) {
    const int to = (rank_ + distance) % size_, from = (rank_ - distance + size_) % size_;
    transfers.push_back({to, in, true});
    transfers.push_back({from, others.flat((from < rank_ ? from : from - 1) * N, N), false});
  }
  exchange(transfers);
  kernels::combine_ranks(context_, reduction, {in.flat(0, N), rank_, others}, out.flat(0, N));
}

void StreamGroup::all_reduce(const Tensor& in, const Tensor& out, Reduction reduction) {
  const std::int64_t N = in.numel();
  if (N == 0) return;
  if (size_ == 1) return copy(in, out);
  if (order_ == ReduceOrder::free) return transport_->all_reduce(paced(), in, out, reduction);
  const std::size_t bytes_of_all = in.bytes() * static_cast<std::size_t>(size_);
  if (bytes_of_all <= std::min(most_small_bytes, staging_bytes_)) return reduce_small(in, out, reduction);
  const std::int64_t line = elements_of(line_bytes, in);
  const std::int64_t most = most_in_slots(in) * size_;
  for (std::int64_t begin = 0; begin < N; begin += most) {
    const std::int64_t count = std::min(most, N - begin);
    const PartOf parts = [&](int rank) { return shift(part_of(rank, size_, count, line), begin); };
    const Tensor own_out = cut(out, parts(rank_));
    reduce_part(in, own_out, reduction, parts);
    gather_parts(own_out, out, parts);
  }
}

/// As NCCL's own operations take them.
bool StreamGroup::are_equal(const PartOf& parts) const {
  const std::int64_t count = parts(0).count;
  for (int rank = 0; rank < size_; ++rank) {
    if (parts(rank) != Part{rank * count, count}) return false;
  }
  return true;
}

void StreamGroup::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                 const PartOf& parts) {
  if (in.numel() == 0) return;
  if (size_ == 1) return copy(in, out);
  if (order_ == ReduceOrder::free && are_equal(parts))
    return transport_->reduce_scatter(paced(), in, out, reduction);
  const std::int64_t most = most_in_slots(in);
  std::int64_t longest = 0;
  for (int rank = 0; rank < size_; ++rank) longest = std::max(longest, parts(rank).count);
  for (std::int64_t begin = 0; begin < longest; begin += most) {
    const auto stretch = [&](int rank) { return piece_of(parts(rank), begin, most); };
    const Part own = shift(stretch(rank_), -parts(rank_).begin);
    reduce_part(in, cut(out, own), reduction, stretch);
  }
}

void StreamGroup::all_gather(const Tensor& in, const Tensor& out, const PartOf& parts) {
  if (out.numel() == 0) return;
  if (size_ == 1) return copy(in, out);
  if (are_equal(parts)) return transport_->all_gather(paced(), in, out);
  gather_parts(in, out, parts);
}

void StreamGroup::broadcast(const Tensor& data, int root) {
  if (data.numel() > 0 && size_ > 1) transport_->broadcast(paced(), data, root);
}

}  // namespace dt::comm
