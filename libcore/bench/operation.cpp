#include "bench/operation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"
#include "base/text/suggest.hpp"

namespace dt::bench {

namespace {

double one(int) {
  return 1;
}

double share_of_others(int n) {
  return static_cast<double>(n - 1) / n;
}

constexpr std::array<OperationTraits, enum_names(Operation{}).size()> all_operations = {{
    {.operation = Operation::all_reduce,
     .bus_factor = [](int n) { return 2 * share_of_others(n); },
     .reduces = true},
    {.operation = Operation::broadcast, .bus_factor = one, .has_root = true},
    {.operation = Operation::all_gather, .bus_factor = share_of_others, .in_parts = true},
    {.operation = Operation::reduce_scatter,
     .bus_factor = share_of_others,
     .reduces = true,
     .in_parts = true},
    {.operation = Operation::send_receive, .bus_factor = one, .has_in_place = false},
    {.operation = Operation::barrier, .bus_factor = one, .has_in_place = false, .has_data = false},
}};

}  // namespace

std::span<const OperationTraits> operations() {
  return all_operations;
}

const OperationTraits& traits(Operation operation) {
  return all_operations.at(static_cast<std::size_t>(operation));
}

std::string operation_names() {
  return fmt::format("{}", fmt::join(names_of<Operation>(), ", "));
}

Operation parse_operation(const std::string& name) {
  if (const auto operation = parse_name<Operation>(name)) return *operation;
  throw Error(ErrorKind::usage, fmt::format("unknown operation '{}'", name),
              did_you_mean(name, names_of<Operation>()) + "expected " + operation_names());
}

std::int64_t Problem::bytes() const {
  return numel * static_cast<std::int64_t>(dtype_bytes(dtype));
}
std::int64_t Problem::in_count() const {
  return operation == Operation::all_gather ? part() : numel;
}
std::int64_t Problem::in_begin(int rank) const {
  return operation == Operation::all_gather ? rank * part() : 0;
}
std::int64_t Problem::out_count() const {
  return operation == Operation::reduce_scatter ? part() : numel;
}
std::int64_t Problem::out_begin(int rank) const {
  return operation == Operation::reduce_scatter ? rank * part() : 0;
}
std::int64_t Problem::count() const {
  return traits(operation).in_parts ? part() : numel;
}

std::vector<std::int64_t> sizes_between(std::int64_t min_bytes, std::int64_t max_bytes, double factor,
                                        std::int64_t step_bytes) {
  DT_CHECK(min_bytes > 0 && (step_bytes > 0 || factor > 1), "sizes would not grow");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = min_bytes; size <= max_bytes;) {
    sizes.push_back(size);
    const double next = step_bytes > 0 ? static_cast<double>(size) + static_cast<double>(step_bytes)
                                       : std::floor(static_cast<double>(size) * factor);
    if (next > static_cast<double>(max_bytes)) break;
    size = std::max(size + 1, static_cast<std::int64_t>(next));
  }
  return sizes;
}

std::vector<Problem> at_sizes(const Problem& problem, std::span<const std::int64_t> sizes_bytes) {
  const OperationTraits& operation = traits(problem.operation);
  if (!operation.has_data) {
    Problem empty = problem;
    empty.numel = 0;
    return {empty};
  }
  const std::int64_t unit = operation.in_parts ? problem.num_ranks : 1;
  std::vector<Problem> problems;
  for (const std::int64_t bytes : sizes_bytes) {
    Problem sized = problem;
    sized.numel = bytes / static_cast<std::int64_t>(dtype_bytes(problem.dtype));
    sized.numel = std::max(unit, sized.numel / unit * unit);
    if (problems.empty() || problems.back().numel != sized.numel) problems.push_back(sized);
  }
  return problems;
}

}  // namespace dt::bench
