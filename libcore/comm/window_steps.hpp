#pragma once
// What ranks on one host do with a segment of their window.

#include <functional>
#include <memory>

#include "comm/engine.hpp"
#include "comm/node_window.hpp"
#include "comm/parts.hpp"
#include "comm/reduction.hpp"
#include "comm/stream_copy.hpp"
#include "tensor/tensor.hpp"

namespace dt::comm {

/// Each of the window's ranks has a part of it. Ranks here are those of the window.
struct WindowSegment {
  std::uint64_t number = 0;  // among the operation's
  DType dtype = DType::f32;
  /// What this rank adds to a rank's part; absent where parts are brought together as they are.
  std::function<Tensor(int rank)> in = {};
  /// This rank's part: combined, where nothing is gathered (then accumulator_dtype is allowed, too); else
  /// what it brings, where nothing is combined.
  Tensor mine = {};
  /// Where a rank's part goes, this one's included; absent where parts stay with their ranks.
  std::function<Tensor(int rank)> out = {};

  bool reduces() const { return static_cast<bool>(in); }
  bool gathers() const { return static_cast<bool>(out); }
  int num_steps() const { return reduces() && gathers() ? 3 : 2; }
};

/// An operation's segments of a window. Each goes from a rank's buffer into its slot; the rank whose part it
/// is combines all slots' and, where results are gathered, puts them in their place, so that a cache line
/// passes between two cores once for each way; each rank takes them from its own slot to `out`. Slots stay in
/// the caches, so what memory sees is each rank's in once and out once. Any order of segments is right; a
/// lower one first is fast. Where it goes before all its steps are done, it breaks the window off.
class WindowRun {
 public:
  /// `content` tells operations from each other that ranks should not confuse. `streams`: what is written to
  /// `out` is not read soon.
  WindowRun(std::shared_ptr<NodeWindow> window, std::size_t num_segments, Reduction reduction,
            std::uint64_t content, bool streams);
  ~WindowRun();
  WindowRun(const WindowRun&) = delete;

  const NodeWindow& window() const { return *window_; }
  /// Step `index` of a segment; it must stay as it is until that is done, but the rest of it need not.
  void add_step(const WindowSegment& segment, int index, Stage& stage);
  /// The last step of a segment that is reduced and gathered, and the first one of that which takes its slots
  /// next.
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

/// Tells operations from each other.
std::uint64_t content_of(const Collective& collective);

}  // namespace dt::comm
