#include "bench/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "base/numeric/visit_dtype.hpp"

namespace dt::bench {

namespace {

/// Period of the values: a prime, so that segments of an algorithm do not fall on repetitions.
constexpr std::int64_t period = 4093;
/// Number of different values. The whole numbers that bfloat16 holds without gaps end at 256.
constexpr int most_values = 250;
constexpr int summands = 64, largest_summand = 3;
constexpr int factors = 8;
static_assert(summands * largest_summand <= 256 && 1 << factors <= 256);

std::uint64_t mixed(int rank, std::int64_t g) {
  std::uint64_t x = static_cast<std::uint64_t>(rank) * period + static_cast<std::uint64_t>(g % period) + 1;
  x *= 0x9E3779B97F4A7C15;  // the golden ratio: neighbours fall far apart
  return x >> 32;
}

int below(std::uint64_t bits, int end) {
  return static_cast<int>(bits % static_cast<std::uint64_t>(end));
}

/// Returns whether a rank takes part at element g. At most `most` ranks do, by turns, since a 16-bit
/// float could not hold a result of more.
bool takes_part(const Problem& problem, int rank, std::int64_t g, int most) {
  const std::int64_t turns = ceil_div(problem.num_ranks, most);
  return (rank + g % period) % turns == 0;
}

int combined(Reduction reduction, int a, int b) {
  switch (reduction) {
    case Reduction::sum:
      return a + b;
    case Reduction::product:
      return a * b;
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
  }
  return 0;
}

/// Stores a value, which all element types hold exactly.
void store(DType dtype, int value, std::byte* target) {
  visit_dtype(ElementTypes(), dtype, "pattern", [&](auto element) {
    using T = decltype(element);
    element = static_cast<T>(static_cast<ComputeType<T>>(value));
    std::memcpy(target, &element, sizeof element);
  });
}

/// Returns one period of the elements from `begin` on, or all of them if there are fewer.
std::vector<std::byte> make_tile(DType dtype, std::int64_t begin, std::int64_t count,
                                 const std::function<int(std::int64_t)>& value) {
  const std::size_t size = dtype_bytes(dtype);
  std::vector<std::byte> tile(static_cast<std::size_t>(std::min(count, period)) * size);
  for (std::size_t i = 0; i * size < tile.size(); ++i)
    store(dtype, value(begin + static_cast<std::int64_t>(i)), tile.data() + i * size);
  return tile;
}

std::int64_t count_different(const std::vector<std::byte>& tile, const Tensor& actual) {
  const std::size_t size = dtype_bytes(actual.dtype());
  std::int64_t different = 0;
  for (std::size_t at = 0; at < actual.bytes(); at += tile.size()) {
    const std::size_t bytes = std::min(tile.size(), actual.bytes() - at);
    const std::byte* got = actual.raw() + at;
    if (std::memcmp(got, tile.data(), bytes) == 0) continue;
    for (std::size_t i = 0; i < bytes; i += size)
      different += std::memcmp(got + i, tile.data() + i, size) != 0 ? 1 : 0;
  }
  return different;
}

}  // namespace

int input_value(const Problem& problem, int rank, std::int64_t g) {
  const std::uint64_t bits = mixed(rank, g);
  if (!traits(problem.operation).reduces) return 1 + below(bits, most_values);
  switch (problem.reduction) {
    case Reduction::sum:
      return takes_part(problem, rank, g, summands) ? 1 + below(bits, largest_summand) : 0;
    case Reduction::product:
      return takes_part(problem, rank, g, factors) ? 1 + below(bits, 2) : 1;
    case Reduction::min:
    case Reduction::max:
      break;
  }
  return 1 + below(bits, most_values);
}

int expected_value(const Problem& problem, int rank, std::int64_t g) {
  const OperationTraits& operation = traits(problem.operation);
  if (!operation.has_data()) return 0;
  if (operation.reduces) {
    int result = input_value(problem, 0, g);
    for (int other = 1; other < problem.num_ranks; ++other)
      result = combined(problem.reduction, result, input_value(problem, other, g));
    return result;
  }
  if (operation.from_root) return input_value(problem, problem.root, g);
  if (operation.in == comm::Extent::whole)  // a ring: send_receive
    return input_value(problem, (rank + problem.num_ranks - 1) % problem.num_ranks, g);
  const std::int64_t part = problem.part();
  const std::int64_t source_g = operation.in == comm::Extent::parts ? rank * part + g % part : g;
  return input_value(problem, static_cast<int>(g / part), source_g);
}

void fill_input(const Problem& problem, int rank, const Tensor& in) {
  const auto tile = make_tile(in.dtype(), problem.in_begin(rank), in.numel(),
                              [&](std::int64_t g) { return input_value(problem, rank, g); });
  for (std::size_t at = 0; at < in.bytes(); at += tile.size())
    std::memcpy(in.raw() + at, tile.data(), std::min(tile.size(), in.bytes() - at));
}

void fill_poison(const Tensor& target) {
  std::memset(target.raw(), 0xFF, target.bytes());
}

std::int64_t count_wrong(const Problem& problem, int rank, const Tensor& out) {
  DT_CHECK(out.numel() == problem.out_count(), "{} elements came out, not {}", out.numel(),
           problem.out_count());
  // Gathered elements change their source at every part; all else is one sequence.
  const std::int64_t stretch =
      traits(problem.operation).in != comm::Extent::whole ? problem.part() : out.numel();
  std::int64_t wrong = 0;
  for (std::int64_t begin = 0; begin < out.numel(); begin += stretch) {
    const auto tile = make_tile(out.dtype(), problem.out_begin(rank) + begin, stretch,
                                [&](std::int64_t g) { return expected_value(problem, rank, g); });
    wrong += count_different(tile, out.flat(begin, stretch));
  }
  return wrong;
}

}  // namespace dt::bench
