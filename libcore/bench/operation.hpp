#pragma once
// The operations that are measured, the bytes that they move, and the sizes of the measurements.
// Legend: n ranks, N elements in all, S their bytes.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "base/text/enum_names.hpp"
#include "comm/core/operation_kind.hpp"
#include "tensor/reduction.hpp"

namespace dt::bench {

using Operation = comm::OperationKind;
using comm::OperationTraits;
using comm::traits;

/// Returns the traits of the operations that are measured, in the order in which they are shown: all
/// kinds except a send and a receive alone.
std::span<const OperationTraits> operations();
/// Returns the operation of a name, or of another name for it.
/// Errors: usage, an unknown name.
Operation parse_operation(const std::string& name);
/// Returns "all_reduce, broadcast, ...".
std::string operation_names();

/// The names that element types and reductions have in nccl-tests.
constexpr auto dtype_names = dtype_names_in<&DTypeTraits::nccl_tests>();
constexpr auto reduction_names = std::to_array<EnumName<Reduction>>({{"sum", Reduction::sum},
                                                                     {"prod", Reduction::product},
                                                                     {"min", Reduction::min},
                                                                     {"max", Reduction::max}});

/// One line of a table: an operation on N elements.
struct Problem {
  Operation operation = Operation::all_reduce;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  int num_ranks = 1;
  std::int64_t numel = 0;  // N; a multiple of n for operations in parts

  std::int64_t bytes() const;
  std::int64_t part() const { return numel / num_ranks; }
  /// Return the number of elements that a rank gives or gets, and the first of them among all N.
  std::int64_t in_count() const;
  std::int64_t in_begin(int rank) const;
  std::int64_t out_count() const;
  std::int64_t out_begin(int rank) const;
  /// Returns the count that nccl-tests shows: a rank's part for operations in parts, else N.
  std::int64_t count() const;
};

/// Returns min, and larger sizes by factor or step (the other is 0), up to and including max.
std::vector<std::int64_t> sizes_between(std::int64_t min_bytes, std::int64_t max_bytes, double factor,
                                        std::int64_t step_bytes);

/// Returns `problem` at each of these sizes, rounded down to whole elements of equal parts. Each part
/// has at least one element, and no size comes twice. An operation without data has one problem, of no
/// elements.
std::vector<Problem> at_sizes(const Problem& problem, std::span<const std::int64_t> sizes_bytes);

}  // namespace dt::bench
