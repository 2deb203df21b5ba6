#pragma once
// Operations of ranks on one host, through their NodeWindow.

#include <functional>
#include <memory>

#include "comm/algorithms/algorithms.hpp"
#include "comm/core/collective.hpp"
#include "comm/core/stream_copy.hpp"
#include "comm/engine.hpp"
#include "comm/node/node_window.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// A segment in which each of the window's ranks has a range. Ranks here are those of the window.
struct WindowSegment {
  std::uint64_t number = 0;  // number among the operation's segments
  DType dtype = DType::f32;
  /// Returns this rank's values of a rank's range. Absent if nothing is reduced.
  std::function<Tensor(int rank)> in = {};
  /// This rank's range: the combined range if nothing is gathered (accumulator_dtype is allowed,
  /// too), or what this rank brings if nothing is reduced.
  Tensor local = {};
  /// Returns the target of a rank's range, this rank's included. Absent if nothing is gathered.
  std::function<Tensor(int rank)> out = {};

  bool reduces() const { return static_cast<bool>(in); }
  bool gathers() const { return static_cast<bool>(out); }
  int num_steps() const { return reduces() && gathers() ? 3 : 2; }
};

/// An operation's segments of a window, and the steps that ranks take with each. Each rank copies a segment
/// from its buffer into its slot. The rank that owns a range combines that range of all slots. If results are
/// gathered, it puts them in the same places. So a cache line passes between two cores once each way. Each
/// rank copies the results from its own slot to `out`. Slots stay in the caches, so memory moves each rank's
/// `in` and `out` once. Segments may come in any order; ascending order is fast. An object that is destroyed
/// before all its steps are done breaks the window off.
class WindowOperation {
 public:
  /// Reserves the segments. `content` identifies the operation, so that ranks do not confuse two.
  /// `streams` says that `out` is not read soon.
  WindowOperation(std::shared_ptr<NodeWindow> window, std::size_t num_segments, Reduction reduction,
                  std::uint64_t content, bool streams);
  ~WindowOperation();
  WindowOperation(const WindowOperation&) = delete;

  const NodeWindow& window() const { return *window_; }
  /// Adds step `index` of a segment. What the step uses must stay as it is until the step is done; the
  /// rest of the segment need not.
  void add_step(const WindowSegment& segment, int index, Round& round);
  /// Adds the last step of a segment that is reduced and gathered, and the first step of the segment
  /// that takes its slots next.
  void add_refill(const WindowSegment& segment, const WindowSegment& next, Round& round);

 private:
  using Step = NodeWindow::Step;
  Tensor in_slot(const WindowSegment& segment, int rank, int owner, std::int64_t count) const;
  StoreKind stores_to(const Tensor& out) const;
  std::uint64_t content(const WindowSegment& segment) const;
  void copy(const WindowSegment& segment);
  void reduce(const WindowSegment& segment);
  void gather(const WindowSegment& segment);
  void refill(const WindowSegment& segment, const WindowSegment& next);
  std::function<bool()> may_begin(Step step, const WindowSegment& segment, bool is_second) const;
  void finish(Step step, const WindowSegment& segment);

  std::shared_ptr<NodeWindow> window_;
  Reduction reduction_;
  std::uint64_t content_;
  bool streams_;
  std::uint64_t first_;
  std::size_t num_left_;
};

/// Returns a number that identifies an operation.
std::uint64_t content_of(const SegmentedCollective& collective);

Algorithm window_algorithm(const Caller& caller, const SegmentedCollective& collective);

/// Returns the number of sequences of that algorithm.
std::size_t num_window_sequences(const SegmentedCollective& collective, int size);

}  // namespace dt::comm
