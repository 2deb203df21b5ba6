#pragma once
// Time of an operation, and whether its results are right.

#include <cstdint>
#include <optional>

#include "bench/backend.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

namespace dt::bench {

struct MeasureSettings {
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  std::int64_t checks = 1;  // operations whose results are compared; 0: none
};

/// The same on all ranks. Each rank's time is its mean over the iterations.
struct Timing {
  double slowest_s = 0;  // of all ranks: what a program that waits for everyone sees
  double fastest_s = 0;
  double mean_s = 0;
  std::optional<std::int64_t> wrong{};  // elements on all ranks, in all checks
};

/// The memory that a rank's operations use, of the context's device: the host's in huge pages where there are
/// any, all of it touched.
class Workspace {
 public:
  /// For problems of up to so many bytes in all.
  Workspace(const Context& context, std::int64_t max_bytes);
  /// For a GPU's too: a message each way is under way at a time, and patterns are written and compared on the
  /// host.
  static std::int64_t host_bytes_needed(std::int64_t max_bytes, Device device) {
    return (device == Device::host() ? 2 : 3) * max_bytes;
  }
  const Context& context() const { return context_; }

  struct Views {
    Tensor in, out;
  };
  Views views(const Problem& problem, bool in_place, int rank, int in_place_part);

 private:
  const Context& context_;
  Buffer first_, second_;
};

/// What one rank finds.
struct OwnTiming {
  double seconds = 0;  // a call, the mean over the iterations
  std::int64_t wrong = 0;
};
/// Warms up, calls `begin`, times `iterations` calls in a row, on the same memory; then checks apart from
/// that. `rank`: of those that the problem is of. All of them call it with what they do together.
OwnTiming measure_own(const Context& context, const Problem& problem, int rank, const Workspace::Views& views,
                      const Call& call, const Call& begin, const MeasureSettings& settings);

/// The same of all ranks, called by them together: they begin at the backend's own barrier.
Timing measure(comm::Communicator& group, Backend& backend, const Problem& problem, bool in_place,
               Workspace& workspace, const MeasureSettings& settings);

}  // namespace dt::bench
