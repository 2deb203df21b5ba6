#pragma once
// Launches work that is enqueued on a device's stream again and again, such as a step's. Work is
// deferred and enqueued in stretches. A repeated stretch costs the host one call (a CUDA graph)
// instead of one call for each kernel.

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tensor/device/accelerator.hpp"

namespace dt {

/// The graphs of one stream's repeated work. A stretch is the work that is deferred between two uses of the
/// stream. When a stretch comes for the second time, all of its kernels have run before and are
/// loaded. The next instantiate_graphs() then makes it a graph. A graph is launched as a whole, and none
/// of its pieces is called. Work that changes each time is enqueued piece by piece.
/// Thread safety: safe from several threads.
class GraphCache {
 public:
  /// A function that enqueues work on the stream.
  using Enqueue = std::function<void()>;
  /// A function that records the work of `enqueue` without running it, and returns a function that
  /// launches that work. Returns an empty function if the work cannot be recorded.
  using Capture = std::function<Enqueue(const Enqueue& enqueue)>;
  struct Limits {
    std::size_t min_graph_operations;  // in the smallest graph; fewer pieces cost the host no more one by one
    std::size_t max_graphs;            // each takes device memory; at this limit, unused graphs are dropped
  };

  explicit GraphCache(Capture capture, Limits limits = {.min_graph_operations = 4, .max_graphs = 1024})
      : capture_(std::move(capture)), limits_(limits) {}
  /// Defers a piece of work, which depends on nothing but the values in its key.
  /// Errors: as for flush_and_run().
  void defer(const WorkKey& key, Enqueue enqueue);
  /// Enqueues the deferred work, then calls `deed`, which must not wait. No other thread enqueues
  /// anything at the same time.
  /// Errors: what enqueueing throws. Every later call of defer() or flush_and_run() throws the same error,
  /// for deferred work is lost.
  void flush_and_run(const Enqueue& deed);
  /// Instantiates graphs of the stretches that have come twice, as long as there is room.
  void instantiate_graphs();

 private:
  using Pieces = std::vector<Enqueue>;
  struct Graph {
    Enqueue launch{};  // empty: it cannot be captured
    std::size_t last_use = 0;
  };

  void flush();
  void launch_or_enqueue(const std::string& key, Pieces&& pieces);
  bool seen_before(const std::string& key);
  bool has_room();
  void throw_if_failed() const;

  Capture capture_;
  Limits limits_;
  std::mutex mutex_;
  std::string key_;
  Pieces pieces_;
  std::size_t num_sequences_ = 0;
  std::unordered_map<std::string, Graph> graphs_;  // by their stretch's key
  std::unordered_map<std::string, Pieces> to_instantiate_;
  std::unordered_set<std::size_t> seen_;  // hashes of keys
  std::exception_ptr failed_;
};

}  // namespace dt
