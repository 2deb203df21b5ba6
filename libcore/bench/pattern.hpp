#pragma once
// What ranks put into an operation and what must come out, to the bit: small whole numbers, chosen so that
// every partial result in any order of ranks is exact in every element type, for any number of ranks. Tensors
// lie on the host.

#include <cstdint>

#include "bench/operation.hpp"
#include "tensor/tensor.hpp"

namespace dt::bench {

/// Element g, counted among all N, of what `rank` puts in. Neighbours in g and in rank differ, so that
/// elements in the wrong place and ranks left out are seen.
int input_value(const Problem& problem, int rank, std::int64_t g);
/// Element g of what must arrive at `rank`.
int expected_value(const Problem& problem, int rank, std::int64_t g);

/// Fills what `rank` gives: in_count() elements from in_begin() on.
void fill_input(const Problem& problem, int rank, const Tensor& in);
/// Fills with what no result is.
void fill_poison(const Tensor& target);
/// Compares every element of what `rank` got, out_count() from out_begin() on; the number that differ.
std::int64_t count_wrong(const Problem& problem, int rank, const Tensor& out);

}  // namespace dt::bench
