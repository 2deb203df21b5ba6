#pragma once
// A group's operations on the memory of devices, through a StreamTransport. Legend: n ranks, N elements.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/parts.hpp"
#include "comm/streams/transport.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/run_ahead.hpp"

namespace dt::comm {

/// In which order ranks' values are added: dt's tree, of the same bits wherever ranks are; or as the library
/// likes, which may be faster.
enum class ReduceOrder { tree, free };

/// Each enqueues on the group's own stream, in the order of calls, and returns. Errors: those of the
/// transport. In dt's order reductions have the bits of messages: parts go to their ranks, which combine them
/// along the tree, and come back where all want them.
class StreamGroup {
 public:
  /// `staging_bytes`: of what arrives at a time to be combined. `meanwhile` is called again and again where
  /// the host is held up: by other ranks that have not come, or because it is far ahead of the stream.
  StreamGroup(std::unique_ptr<StreamTransport> transport, ReduceOrder order, std::size_t staging_bytes,
              const std::string& name, std::function<void()> meanwhile);

  StreamTransport& transport() { return *transport_; }
  ReduceOrder order() const { return order_; }
  void set_order(ReduceOrder order) { order_ = order; }
  Stream stream() const { return context_.stream(); }

  /// Sends and receives at once, of which none waits for another.
  using Transfers = std::vector<StreamTransport::Transfer>;
  void exchange(const Transfers& transfers);
  void all_reduce(const Tensor& in, const Tensor& out, Reduction reduction);
  /// `parts`: each rank's of the N elements.
  void reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction, const PartOf& parts);
  void all_gather(const Tensor& in, const Tensor& out, const PartOf& parts);
  void broadcast(const Tensor& data, int root);
  std::unique_ptr<StreamTransport> split(std::optional<int> color, int key, StreamUse use) {
    return transport_->split(color, key, use);
  }

 private:
  Stream paced();
  void copy(const Tensor& from, const Tensor& to);
  Tensor slots(DType dtype, std::int64_t numel);
  std::int64_t most_in_slots(const Tensor& tensor) const;
  void reduce_part(const Tensor& in, const Tensor& own_out, Reduction reduction, const PartOf& parts);
  void gather_parts(const Tensor& mine, const Tensor& out, const PartOf& parts);
  void reduce_small(const Tensor& in, const Tensor& out, Reduction reduction);
  bool are_equal(const PartOf& parts) const;

  std::unique_ptr<StreamTransport> transport_;
  ReduceOrder order_;
  int rank_, size_;
  std::size_t staging_bytes_;
  Buffer staging_;   // when it is first used
  Context context_;  // after it: its work goes first
  RunAhead ahead_;
  std::function<void()> meanwhile_;
};

}  // namespace dt::comm
