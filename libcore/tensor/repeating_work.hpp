#pragma once
// Launches work that a device's stream gets again and again, as a step's work. Work is kept back for a
// while and given in stretches. A stretch that has come before then costs the host one call (a CUDA
// graph) instead of one call for each kernel.

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

/// The repeating work of one stream. A stretch is what is kept between two uses of the stream. When a
/// stretch comes for the second time, all that it runs has run before and is loaded, so from then on it
/// waits to be made a graph. A graph is launched as a whole, and none of its pieces is called. Work
/// that changes each time is given as it comes.
/// Thread safety: safe from several threads.
class RepeatingWork {
 public:
  /// A function that gives the stream work when it is called.
  using Enqueue = std::function<void()>;
  /// A function that returns what gives the stream all that `enqueue` does. The stream gets nothing
  /// meanwhile. Returns an empty function if that cannot be done.
  using Capture = std::function<Enqueue(const Enqueue& enqueue)>;
  struct Limits {
    std::size_t least_pieces;  // smallest graph; fewer pieces cost the host no more by themselves
    std::size_t most_graphs;   // each takes memory of the device; beyond them those not in use go
  };

  explicit RepeatingWork(Capture capture, Limits limits = {.least_pieces = 4, .most_graphs = 1024})
      : capture_(std::move(capture)), limits_(limits) {}
  /// Keeps a piece, which depends on nothing that its key does not hold.
  /// Errors: as for use().
  void keep(const WorkKey& key, Enqueue enqueue);
  /// Gives the stream what is kept, then calls `deed`, which must not wait. No other thread gives the
  /// stream anything meanwhile.
  /// Errors: what enqueueing throws. Every later call throws the same, for what was kept is lost.
  void use(const Enqueue& deed);
  /// Makes the graphs that wait to be made.
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
