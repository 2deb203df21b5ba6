#pragma once
// A group's operations on the memory of devices, through a DeviceTransport.
// Legend: n ranks, N elements.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/enum_names.hpp"
#include "comm/core/collective.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/device_collectives/rounds.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

namespace dt::comm {

/// The order in which ranks' values are added: dt's tree, with the same bits wherever ranks are; or
/// the library's order, which may be faster.
enum class ReduceOrder { tree, free };
constexpr auto enum_names(ReduceOrder) {
  return std::to_array<EnumName<ReduceOrder>>({{"tree", ReduceOrder::tree}, {"free", ReduceOrder::free}});
}

/// A group's operations on streams. Each function enqueues on the group's own stream, in the order
/// of calls, and returns. In dt's order, ranks send each range to the rank that owns it, which
/// combines it along the tree. In an all-reduce the results then go to all ranks. On several nodes
/// each node sums its own ranks' values first, if that keeps the bits and pays. Then per_node times
/// fewer bytes pass between nodes (16-bit reductions: per_node ÷ 2 times). Gathers go between nodes
/// once. Large operations go in stretches: while one is combined, others are exchanged, within
/// nodes and between them at once.
/// Numerics: in dt's order reductions have the bits of messages.
/// Errors: those of the transport.
class DeviceGroup {
 public:
  /// Creates the group's stream. `placement` is that of the ranks on nodes, if they have one (see
  /// placement_of). `staging_bytes` is the memory for what arrives at a time to be combined.
  /// `overlapped_work` is called repeatedly while the host is blocked, because other ranks have not come
  /// or because the host is far ahead of the stream.
  DeviceGroup(std::unique_ptr<DeviceTransport> transport, ReduceOrder order,
              const std::optional<Placement>& placement, std::size_t staging_bytes, const std::string& name,
              std::function<void()> overlapped_work);

  DeviceTransport& transport() { return *transport_; }
  ReduceOrder order() const { return order_; }
  void set_order(ReduceOrder order) { order_ = order; }
  Stream stream() const { return context_.stream(); }

  /// Sends and receives at once; no transfer waits for another. What this rank sends to itself is
  /// copied.
  void exchange(const Transfers& transfers);
  void all_reduce(const Tensor& in, const Tensor& out, Reduction reduction);
  /// Reduces `in` for the root alone. In dt's order the root combines what all ranks, or all nodes, send.
  void reduce(const Tensor& in, const Tensor& out, Reduction reduction, int root);
  /// Reduces `in` over all ranks; `range_of` returns each rank's range of the N elements.
  void reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction, const RangeOf& range_of);
  void all_gather(const Tensor& in, const Tensor& out, const RangeOf& range_of);
  void broadcast(const Tensor& data, int root);
  std::unique_ptr<DeviceTransport> split(std::optional<int> color, int key, DeviceGroupUse use) {
    return transport_->split(color, key, use);
  }

 private:
  Stream paced();
  void copy(const Tensor& from, const Tensor& to);
  std::int64_t stretch_of(const Tensor& tensor, std::int64_t longest, std::int64_t most) const;
  std::int64_t max_staged_bytes(const Levels& levels, DType dtype) const;
  /// Returns memory for stretches of which each rank has `most` elements at most. Several stretches are
  /// combined beside exchanges.
  HierarchicalSums::Memory memory_for(std::int64_t num_stretches, std::int64_t most);
  void run(std::int64_t num_stretches, std::span<const StreamRound> rounds);
  void reduce_small(const Tensor& in, const Tensor& out, Reduction reduction);
  bool are_equal(const RangeOf& range_of) const;
  std::int64_t longest_of(const RangeOf& range_of) const;

  std::unique_ptr<DeviceTransport> transport_;
  ReduceOrder order_;
  int rank_, size_;
  Levels levels_;
  std::size_t staging_bytes_;
  std::string name_;
  Buffer staging_;   // allocated when first used
  Context context_;  // declared after staging_, so that its work ends first
  std::optional<Context> combining_;
  StreamThrottle ahead_;
  std::function<void()> overlapped_work_;
};

}  // namespace dt::comm
