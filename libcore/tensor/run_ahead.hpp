#pragma once
// How far the host runs ahead of a device: a driver's queue has an end (CUDA's after about a thousand pieces
// of work), and whoever gives it more is held up there without a time limit, and sends no messages.

#include <functional>
#include <memory>

#include "tensor/accelerator.hpp"

namespace dt {

/// Of one stream.
class RunAhead {
 public:
  /// A kernel may be several pieces of work. The first mark is an early one: what is kept back (see
  /// Accelerator::keep_back) goes with it to a device that has nothing to do yet.
  static constexpr int kernels_between_marks = 64, kernels_before_first_mark = 8;

  explicit RunAhead(Stream stream) : stream_(stream) {}
  /// Before each kernel: at most twice as many as between two marks are under way. `meanwhile` is called
  /// again and again where it waits. Errors: as of Mark.
  void next(const std::function<void()>& meanwhile);

 private:
  Stream stream_;
  int given_ = kernels_between_marks - kernels_before_first_mark;  // since the last mark
  std::unique_ptr<Mark> last_;
};

}  // namespace dt
