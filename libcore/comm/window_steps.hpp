#pragma once
// The steps that ranks on one host take with a segment of their window.

#include <functional>
#include <memory>

#include "comm/engine.hpp"
#include "comm/node_window.hpp"
#include "comm/parts.hpp"
#include "comm/reduction.hpp"
#include "comm/stream_copy.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// A segment in which each of the window's ranks has a part. Ranks here are those of the window.
struct WindowSegment {
  std::uint64_t number = 0;  // number among the operation's segments
  DType dtype = DType::f32;
  /// Returns what this rank adds to a rank's part. Absent if parts are brought together as they are.
  std::function<Tensor(int rank)> in = {};
  /// This rank's part. If nothing is gathered, the part combined (accumulator_dtype is allowed, too).
  /// If nothing is combined, what this rank brings.
  Tensor mine = {};
  /// Returns where a rank's part goes, this rank's included. Absent if parts stay with their ranks.
  std::function<Tensor(int rank)> out = {};

  bool reduces() const { return static_cast<bool>(in); }
  bool gathers() const { return static_cast<bool>(out); }
  int num_steps() const { return reduces() && gathers() ? 3 : 2; }
};

/// An operation's segments of a window. Each segment goes from a rank's buffer into its slot. The rank
/// that owns a part combines all slots' and, if results are gathered, puts the results in their place.
/// So a cache line passes between two cores once for each way. Each rank takes the results from its own
/// slot to `out`. Slots stay in the caches, so memory sees each rank's in once and out once. Any order
/// of segments is right; a lower one first is fast. An object that goes before all its steps are done
/// breaks the window off.
class WindowRun {
 public:
  /// Reserves the segments. `content` tells operations from each other that ranks should not confuse.
  /// `streams` says that what is written to `out` is not read soon.
  WindowRun(std::shared_ptr<NodeWindow> window, std::size_t num_segments, Reduction reduction,
            std::uint64_t content, bool streams);
  ~WindowRun();
  WindowRun(const WindowRun&) = delete;

  const NodeWindow& window() const { return *window_; }
  /// Adds step `index` of a segment. What the step uses must stay as it is until the step is done; the
  /// rest of the segment need not.
  void add_step(const WindowSegment& segment, int index, Stage& stage);
  /// Adds the last step of a segment that is reduced and gathered, and the first step of the segment
  /// that takes its slots next.
  void add_refill(const WindowSegment& segment, const WindowSegment& next, Stage& stage);

 private:
  using Step = NodeWindow::Step;
  Tensor in_slot(const WindowSegment& segment, int rank, int part, std::int64_t count) const;
  Stores stores_to(const Tensor& out) const;
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

/// Returns a number that tells operations from each other.
std::uint64_t content_of(const Collective& collective);

}  // namespace dt::comm
