#pragma once
// Computes how many bytes the group operations send, without running ranks.

#include <span>

#include "base/numeric/dtype.hpp"
#include "comm/core/recorder.hpp"

namespace dt::comm {

/// Bytes that a rank sends, by destination.
struct SentBytes {
  double within_hosts = 0, between_hosts = 0;
  double total() const { return within_hosts + between_hosts; }
  SentBytes& operator+=(const SentBytes& other) {
    within_hosts += other.within_hosts;
    between_hosts += other.between_hosts;
    return *this;
  }
  friend SentBytes operator*(double factor, const SentBytes& sent) {
    return {factor * sent.within_hosts, factor * sent.between_hosts};
  }
};

/// Returns what a rank sends in a collective without a root, of `bytes`, in equal ranges and in dt's
/// order. `hosts` has the number of each rank's host. Bytes pass within runs of ranks and
/// then between runs (see placement_of), except in sums for which that does not pay. Those of an all_to_all
/// count once, from the rank that gives them to the rank that gets them.
SentBytes sent_bytes(OperationKind kind, double bytes, DType dtype, std::span<const int> hosts, int rank);

}  // namespace dt::comm
