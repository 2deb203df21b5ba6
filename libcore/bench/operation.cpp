#include "bench/operation.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/error.hpp"
#include "base/text/suggest.hpp"

namespace dt::bench {

std::span<const OperationTraits> operations() {
  constexpr std::size_t num_transfers = 2;
  static_assert(is_point_to_point(Operation::send) && is_point_to_point(Operation::receive) &&
                comm::operation_traits[num_transfers].kind != Operation::receive);
  return std::span(comm::operation_traits).subspan(num_transfers);
}

std::string operation_names() {
  std::vector<std::string_view> names;
  for (const OperationTraits& entry : operations()) names.push_back(name_of(entry.kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

Operation parse_operation(const std::string& name) {
  std::vector<std::string> names;
  for (const OperationTraits& entry : operations()) {
    names.emplace_back(name_of(entry.kind));
    if (name == names.back() || (!entry.alias.empty() && name == entry.alias)) return entry.kind;
  }
  throw Error(ErrorKind::usage, fmt::format("unknown operation '{}'", name),
              did_you_mean(name, names) + "expected " + operation_names());
}

std::int64_t Problem::bytes() const {
  return numel * static_cast<std::int64_t>(dtype_bytes(dtype));
}
std::int64_t Problem::in_count() const {
  return traits(operation).in == comm::Extent::part ? part() : numel;
}
std::int64_t Problem::in_begin(int rank) const {
  return traits(operation).in == comm::Extent::part ? rank * part() : 0;
}
std::int64_t Problem::out_count() const {
  return traits(operation).out == comm::Extent::part ? part() : numel;
}
std::int64_t Problem::out_begin(int rank) const {
  return traits(operation).out == comm::Extent::part ? rank * part() : 0;
}
std::int64_t Problem::count() const {
  return traits(operation).in_parts() ? part() : numel;
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
  if (!operation.has_data()) {
    Problem empty = problem;
    empty.numel = 0;
    return {empty};
  }
  const std::int64_t unit = operation.in_parts() ? problem.num_ranks : 1;
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
