#pragma once
// Operations that begin before their group knows where its ranks are.

#include <functional>

#include "comm/algorithms/algorithms.hpp"

namespace dt::comm {

/// Returns an algorithm that finds out where ranks are, or waits until another operation has. It
/// then runs the algorithm that `choose` returns. All ranks call `choose` in the order of
/// operations. Its result has no more than `max_sequences` sequences, and otherwise begins like
/// `messages`.
Algorithm topology_discovery_algorithm(const Caller& caller, const std::function<Algorithm()>& choose,
                                       const Algorithm& messages, std::size_t max_sequences);

}  // namespace dt::comm
