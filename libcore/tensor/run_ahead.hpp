#pragma once
// Bounds how far the host runs ahead of a device. A driver's queue has an end (CUDA's after about a
// thousand pieces of work). A caller that gives it more is held up there without a time limit, and
// sends no messages.

#include <functional>
#include <memory>

#include "tensor/accelerator.hpp"

namespace dt {

/// The bound of one stream.
class RunAhead {
 public:
  /// Kernels between two marks; a kernel may be several pieces of work. The first mark comes early:
  /// what is kept back (see Accelerator::keep_back) goes with it to a device that has nothing to do
  /// yet.
  static constexpr int kernels_between_marks = 64, kernels_before_first_mark = 8;

  explicit RunAhead(Stream stream) : stream_(stream) {}
  /// Waits if the host is too far ahead: at most twice as many kernels as between two marks are under
  /// way. Call before each kernel. `meanwhile` is called again and again during the wait.
  /// Errors: those of Mark.
  void next(const std::function<void()>& meanwhile);

 private:
  Stream stream_;
  int given_ = kernels_between_marks - kernels_before_first_mark;  // since the last mark
  std::unique_ptr<Mark> last_;
};

}  // namespace dt
