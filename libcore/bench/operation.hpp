#pragma once
// The operations that are measured: their names, what they move and what of it a network sees. Legend: n
// ranks, N elements in all, S their bytes.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "comm/reduction.hpp"

namespace dt::bench {

enum class Operation { all_reduce, broadcast, all_gather, reduce_scatter, send_receive, barrier };

struct OperationTraits {
  Operation operation;
  const char* name;
  /// Bus bandwidth over S/time: what a rank's link carries, whatever n. Source: nccl-tests, PERFORMANCE.md.
  double (*bus_factor)(int num_ranks);
  bool reduces = false;
  bool has_root = false;
  bool in_parts = false;  // each rank gives or gets N/n elements
  bool has_in_place = true;
  bool has_data = true;
};

/// In the order in which they are shown.
std::span<const OperationTraits> operations();
const OperationTraits& traits(Operation operation);
/// Error{usage}: an unknown name.
Operation parse_operation(const std::string& name);
/// "all_reduce, broadcast, ..."
std::string operation_names();

/// Element types and reductions under nccl-tests' names: "float", "prod".
std::vector<std::string> dtype_names();
std::vector<std::string> reduction_names();
/// Errors: internal, for a name that is not among these.
DType parse_dtype_name(const std::string& name);
comm::Reduction parse_reduction_name(const std::string& name);
std::string name_of(DType dtype);
std::string name_of(comm::Reduction reduction);

/// One line of a table: an operation on so many elements.
struct Problem {
  Operation operation = Operation::all_reduce;
  DType dtype = DType::f32;
  comm::Reduction reduction = comm::Reduction::sum;
  int root = 0;
  int num_ranks = 1;
  std::int64_t numel = 0;  // N; a multiple of n for those in parts

  std::int64_t bytes() const;
  std::int64_t part() const { return numel / num_ranks; }
  /// Elements that rank gives and gets, and where these begin among all N.
  std::int64_t in_count() const;
  std::int64_t in_begin(int rank) const;
  std::int64_t out_count() const;
  std::int64_t out_begin(int rank) const;
  /// As nccl-tests' column: a rank's part for those in parts, else N.
  std::int64_t count() const;
};

/// min, then by factor or step (the other is 0) up to and including max.
std::vector<std::int64_t> sizes_between(std::int64_t min_bytes, std::int64_t max_bytes, double factor,
                                        std::int64_t step_bytes);

/// `problem` at each of these sizes, rounded down to whole elements of equal parts (at least one a rank), no
/// size twice. One of no elements where there are no data.
std::vector<Problem> at_sizes(const Problem& problem, std::span<const std::int64_t> sizes_bytes);

}  // namespace dt::bench
