#pragma once
// Measures the time of an operation, and whether its results are right. Finds rates that are low among rates
// of the same name.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/backend.hpp"
#include "tensor/buffer.hpp"
#include "tensor/context.hpp"

namespace dt::bench {

/// Returns the median; 0 for no values. For an even number of values it is the higher of the two in
/// the middle. The slower of two devices is thus compared with the faster one.
double median(std::vector<double> values);

/// A measured rate, compared with the rates of the same name.
struct RelativeRate {
  double median = 0;  // median of the rates of the same name
  bool is_slow = false;
};

/// Returns how each of `values` compares with the values of the same name in `likes`. More is
/// better. A value below `fraction` of their median is slow.
std::vector<RelativeRate> compare_to_median(const std::vector<std::string>& likes,
                                            const std::vector<double>& values, double fraction);

struct MeasureSettings {
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  std::int64_t checks = 1;  // operations whose results are compared; 0: none
};

/// Times of an operation, the same on all ranks. Each rank's time is its mean over the iterations.
struct Timing {
  double slowest_s = 0;  // over all ranks: the time of a program that waits for all
  double fastest_s = 0;
  double mean_s = 0;
  std::optional<std::int64_t> wrong{};  // wrong elements on all ranks, in all checks
};

/// The memory that a rank's operations use, on the context's device. Host memory is in huge pages
/// if the system has them. All of it is touched beforehand.
class Workspace {
 public:
  /// Creates memory for problems of up to `max_bytes` in all.
  Workspace(const Context& context, std::int64_t max_bytes);
  /// Returns the host memory that measuring takes. A GPU takes some, too: a message each way is in
  /// flight at a time, and patterns are written and compared on the host.
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

/// The results of one rank.
struct OwnTiming {
  double seconds = 0;  // a call's, as the mean over the iterations
  std::int64_t wrong = 0;
};
/// Warms up, calls `begin`, and times `iterations` calls in a row on the same memory. Then checks
/// results, outside of the timed calls. `rank` counts among the problem's ranks.
/// Collective: all of the problem's ranks call it, with the calls that they make together.
OwnTiming measure_own(const Context& context, const Problem& problem, int rank, const Workspace::Views& views,
                      const CollectiveCall& call, const CollectiveCall& begin,
                      const MeasureSettings& settings);

/// Measures an operation of all ranks, which begin at the backend's own barrier.
/// Collective: all ranks call it.
Timing measure(comm::Communicator& group, Backend& backend, const Problem& problem, bool in_place,
               Workspace& workspace, const MeasureSettings& settings);

}  // namespace dt::bench
