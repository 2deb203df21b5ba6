#pragma once
// The inputs of ranks and the results that must come out, to the bit. Values are small whole numbers.
// Every partial result is exact in every element type, in any order of ranks and for any number of
// them. Tensors lie on the host.

#include <cstdint>

#include "bench/operation.hpp"
#include "tensor/tensor.hpp"

namespace dt::bench {

/// Returns element g, counted among all N, of the input of `rank`. Neighbours in g and in rank differ,
/// which reveals elements in the wrong place and ranks left out.
int input_value(const Problem& problem, int rank, std::int64_t g);
/// Returns element g of the result at `rank`.
int expected_value(const Problem& problem, int rank, std::int64_t g);

/// Fills the input of `rank`: in_count() elements from in_begin() on.
void fill_input(const Problem& problem, int rank, const Tensor& in);
/// Fills with a pattern that no result has.
void fill_poison(const Tensor& target);
/// Compares every element of the result at `rank`: out_count() elements from out_begin() on. Returns
/// how many differ.
std::int64_t count_wrong(const Problem& problem, int rank, const Tensor& out);

}  // namespace dt::bench
