#pragma once
// Operations of ranks on one host, through their NodeWindow.

#include "comm/algorithms/algorithms.hpp"
#include "comm/core/collective.hpp"

namespace dt::comm {

Algorithm window_algorithm(const Caller& caller, const Collective& collective);

/// Returns the number of sequences of that algorithm.
std::size_t num_window_sequences(const Collective& collective, int size);

}  // namespace dt::comm
