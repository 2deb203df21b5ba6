#pragma once
// Work for a device's stream that comes again and again, as a step's does: kept back for a while and given in
// stretches, so that one that has come before costs the host one call (CUDA's graphs) instead of one for each
// kernel.

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tensor/work_key.hpp"

namespace dt {

/// Of one stream; thread-safe. A stretch is what is kept between two uses of the stream. From its second
/// coming on, when all that it runs has run before, and is loaded, it waits to be made a graph; then it is
/// launched as one, and none of its pieces is asked for. What changes each time is given as it comes.
class RepeatingWork {
 public:
  /// Gives the stream something when it is called.
  using Enqueue = std::function<void()>;
  /// Makes what gives the stream all that `enqueue` does, which it gets nothing of meanwhile. Empty where
  /// that cannot be.
  using Capture = std::function<Enqueue(const Enqueue& enqueue)>;
  struct Limits {
    std::size_t least_pieces;  // of a graph: fewer cost the host no more by themselves
    std::size_t most_graphs;   // each takes memory of the device; beyond them those go that are not used
  };

  explicit RepeatingWork(Capture capture, Limits limits = {.least_pieces = 4, .most_graphs = 1024})
      : capture_(std::move(capture)), limits_(limits) {}
  /// A piece, which depends on nothing that its key does not hold. Errors: as of use.
  void keep(const WorkKey& key, Enqueue enqueue);
  /// Gives the stream what is kept, then `deed`, which does not wait: meanwhile nobody else gives it
  /// anything. Errors: what enqueueing throws; that again for ever, for what was kept is lost.
  void use(const Enqueue& deed);
  /// Makes the graphs that wait for it.
  void make_graphs();

 private:
  using Pieces = std::vector<Enqueue>;
  struct Graph {
    Enqueue launch{};  // empty: it cannot be captured
    std::size_t last_stretch = 0;
  };

  void give();
  void give(const std::string& key, Pieces&& pieces);
  bool comes_again(const std::string& key);
  bool has_room();
  void throw_if_failed() const;

  Capture capture_;
  Limits limits_;
  std::mutex mutex_;
  std::string key_;
  Pieces pieces_;
  std::size_t num_stretches_ = 0;
  std::unordered_map<std::string, Graph> graphs_;  // by their stretch's key
  std::unordered_map<std::string, Pieces> to_make_;
  std::unordered_set<std::size_t> seen_;  // hashes of keys
  std::exception_ptr failed_;
};

}  // namespace dt
