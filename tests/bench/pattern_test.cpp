#include "bench/pattern.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "comm/core/reduction.hpp"
#include "tensor/buffer.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

using Bytes = std::vector<std::byte>;

Tensor view(Bytes& bytes, const Problem& problem, std::int64_t numel) {
  bytes.resize(static_cast<std::size_t>(numel) * dtype_bytes(problem.dtype));
  return Tensor(bytes.data(), problem.dtype, {numel}, Device::host());
}

/// Returns what `rank` must get. It follows from the other ranks' inputs by the operation's definition,
/// element by element.
Bytes right_result(const Problem& problem, int rank) {
  const std::size_t size = dtype_bytes(problem.dtype);
  const auto elements = [&](int from) {
    Bytes bytes;
    fill_input(problem, from, view(bytes, problem, problem.in_count()));
    return bytes;
  };
  switch (problem.operation) {
    case Operation::broadcast:
      return elements(problem.root);
    case Operation::scatter: {
      const Bytes whole = elements(problem.root);
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(problem.out_begin(rank)) *
                                             static_cast<std::ptrdiff_t>(size);
      return Bytes(begin, begin + static_cast<std::ptrdiff_t>(problem.out_count()) *
                                      static_cast<std::ptrdiff_t>(size));
    }
    case Operation::send_receive:
      return elements((rank + problem.num_ranks - 1) % problem.num_ranks);
    case Operation::all_gather:
    case Operation::gather: {
      Bytes all;
      for (int from = 0; from < problem.num_ranks; ++from) {
        const Bytes part = elements(from);
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    }
    case Operation::all_to_all: {
      Bytes all;
      const auto part_bytes = static_cast<std::ptrdiff_t>(problem.part()) * static_cast<std::ptrdiff_t>(size);
      for (int from = 0; from < problem.num_ranks; ++from) {
        const Bytes whole = elements(from);
        all.insert(all.end(), whole.begin() + rank * part_bytes, whole.begin() + (rank + 1) * part_bytes);
      }
      return all;
    }
    default:
      break;
  }
  Bytes sum = elements(0);
  const Tensor sum_N(sum.data(), problem.dtype, {problem.numel}, Device::host());
  for (int from = 1; from < problem.num_ranks; ++from) {
    Bytes other = elements(from);
    const std::vector<Tensor> both = {sum_N,
                                      Tensor(other.data(), problem.dtype, {problem.numel}, Device::host())};
    comm::combine(problem.reduction, both, sum_N);
  }
  if (problem.operation != Operation::reduce_scatter) return sum;
  const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(problem.out_begin(rank) * size);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(problem.out_count() * size));
}

std::int64_t wrong_in(const Problem& problem, int rank, Bytes bytes) {
  return count_wrong(problem, rank, view(bytes, problem, problem.out_count()));
}

std::vector<Problem> all_problems(int num_ranks, std::int64_t part) {
  std::vector<Problem> problems;
  for (const OperationTraits& entry : operations()) {
    for (const auto& [name, dtype] : dtype_names) {
      for (const auto& [_, reduction] : reduction_names) {
        if (!entry.has_data() || (!entry.reduces && reduction != Reduction::sum)) continue;
        if (entry.reduces && dtype == DType::u8) continue;
        problems.push_back({.operation = entry.kind,
                            .dtype = dtype,
                            .reduction = reduction,
                            .root = num_ranks - 1,
                            .num_ranks = num_ranks,
                            .numel = num_ranks * part});
      }
    }
  }
  return problems;
}

std::string label(const Problem& problem) {
  return fmt::format("{} {} {} {}", name_of(problem.operation), name_in(dtype_names, problem.dtype),
                     name_in(reduction_names, problem.reduction), problem.num_ranks);
}

}  // namespace

TEST_CASE("right results are right, rounded after each rank or not, for any number of ranks") {
  for (const int num_ranks : {1, 2, 3, 64, 65, 130}) {
    for (const Problem& problem : all_problems(num_ranks, 21)) {
      INFO(label(problem));
      for (const int rank : {0, num_ranks / 2, num_ranks - 1})
        CHECK(wrong_in(problem, rank, right_result(problem, rank)) == 0);
    }
  }
}

TEST_CASE("results longer than the pattern's period are right too") {
  for (const Problem& problem : all_problems(3, 5000)) {
    INFO(label(problem));
    CHECK(wrong_in(problem, 1, right_result(problem, 1)) == 0);
  }
}

TEST_CASE("partial results stay exact in 16-bit floats for thousands of ranks") {
  for (const Reduction reduction : {Reduction::sum, Reduction::product}) {
    const Problem problem{.reduction = reduction, .num_ranks = 5000, .numel = 1};
    for (std::int64_t g = 0; g < 300; g += 7) {
      const int value = expected_value(problem, 0, g);
      CHECK(value > 0);
      CHECK(value <= 256);
    }
  }
}

TEST_CASE("16-bit floats hold the values that they should") {
  const Problem half{.dtype = DType::f16, .num_ranks = 64, .numel = 4000};
  Bytes bytes;
  const Tensor out_N = view(bytes, half, half.numel);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Problem problem = half;
    problem.dtype = dtype;
    problem.operation = Operation::broadcast;
    fill_input(problem, 0, Tensor(out_N.raw(), dtype, {half.numel}, Device::host()));
    const auto* bits = reinterpret_cast<const std::uint16_t*>(out_N.raw());
    for (std::int64_t i = 0; i < half.numel; ++i) {
      const int exponent_bits = dtype == DType::f16 ? 5 : 8, fraction_bits = 15 - exponent_bits;
      const int exponent = (bits[i] >> fraction_bits) - ((1 << (exponent_bits - 1)) - 1);
      const double fraction =
          1 + static_cast<double>(bits[i] & ((1 << fraction_bits) - 1)) / (1 << fraction_bits);
      REQUIRE(std::ldexp(fraction, exponent) == input_value(problem, 0, i));
    }
  }
}

TEST_CASE("every corrupted element is counted") {
  for (const Problem& problem : all_problems(4, 3000)) {
    INFO(label(problem));
    const Bytes right = right_result(problem, 2);
    const std::size_t size = dtype_bytes(problem.dtype), count = right.size() / size;
    for (const std::size_t element : {std::size_t{0}, count / 2, count - 1}) {
      Bytes damaged = right;
      damaged[element * size] ^= std::byte{1};  // flips the lowest bit of a number
      CHECK(wrong_in(problem, 2, damaged) == 1);
    }
    Bytes damaged = right;
    for (std::size_t element = 0; element < count; element += 10) damaged[element * size] ^= std::byte{4};
    CHECK(wrong_in(problem, 2, damaged) == static_cast<std::int64_t>((count + 9) / 10));
    fill_poison(Tensor(damaged.data(), DType::u8, {std::ssize(damaged)}, Device::host()));
    CHECK(wrong_in(problem, 2, damaged) == static_cast<std::int64_t>(count));
  }
}

TEST_CASE("elements in another's place are wrong") {
  for (const Problem& problem : all_problems(4, 3000)) {
    INFO(label(problem));
    const Bytes right = right_result(problem, 2);
    const std::size_t size = dtype_bytes(problem.dtype);
    const auto count = static_cast<std::int64_t>(right.size() / size);
    Bytes shifted(right.begin() + static_cast<std::ptrdiff_t>(size), right.end());
    shifted.insert(shifted.end(), right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(wrong_in(problem, 2, shifted) > count / 8);
    Bytes swapped(right.begin() + static_cast<std::ptrdiff_t>(right.size() / size / 2 * size), right.end());
    swapped.insert(swapped.end(), right.begin(),
                   right.begin() + static_cast<std::ptrdiff_t>(right.size() / size / 2 * size));
    CHECK(wrong_in(problem, 2, swapped) > count / 8);
  }
}

TEST_CASE("a rank that is left out, counted twice or confused with another is noticed") {
  for (const int num_ranks : {2, 4, 100}) {
    Problem problem{.num_ranks = num_ranks, .numel = 2000};
    for (const int left_out : {0, num_ranks - 1}) {
      std::int64_t missing = 0;
      for (std::int64_t g = 0; g < problem.numel; ++g)
        missing += input_value(problem, left_out, g) != 0 ? 1 : 0;
      CHECK(missing >= problem.numel / 2 - 1);
    }
    for (const Operation operation : {Operation::broadcast, Operation::send_receive, Operation::all_gather}) {
      problem.operation = operation;
      std::int64_t equal = 0;
      for (std::int64_t g = 0; g < problem.numel; ++g)
        equal += input_value(problem, 0, g) == input_value(problem, num_ranks - 1, g) ? 1 : 0;
      CHECK(equal < problem.numel / 20);
    }
  }
}
