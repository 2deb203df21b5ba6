#include "bench/operation.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::bench;

TEST_CASE("operations are found by their names, and unknown ones are refused") {
  for (const OperationTraits& entry : operations()) {
    CHECK(parse_operation(std::string(name_of(entry.kind))) == entry.kind);
    CHECK(&traits(entry.kind) == &entry);
  }
  CHECK(operations().size() == 10);
  try {
    parse_operation("allreduce");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.message().find("'allreduce'; did you mean 'all_reduce'? expected all_reduce, broadcast") !=
          std::string::npos);
  }
}

TEST_CASE("element types and reductions have nccl-tests' names") {
  CHECK(value_in(dtype_names, "float") == DType::f32);
  CHECK(name_in(dtype_names, DType::bf16) == "bfloat16");
  CHECK(names_in(reduction_names) == std::vector<std::string>{"sum", "prod", "min", "max"});
}

TEST_CASE("bus bandwidth counts what a rank's link carries") {
  const auto factor = [](const char* name, int n) { return traits(parse_operation(name)).bus_factor(n); };
  CHECK(factor("all_reduce", 2) == 1);
  CHECK(factor("all_reduce", 4) == 1.5);
  CHECK(factor("all_gather", 4) == 0.75);
  CHECK(factor("reduce_scatter", 4) == 0.75);
  CHECK(factor("all_to_all", 4) == 0.75);
  CHECK(factor("alltoall", 4) == 0.75);  // nccl-tests' name
  CHECK(factor("gather", 4) == 0.75);
  CHECK(factor("scatter", 4) == 0.75);
  CHECK(factor("reduce", 4) == 1);
  CHECK(factor("broadcast", 4) == 1);
  CHECK(factor("send_receive", 4) == 1);
  CHECK(factor("all_reduce", 1) == 0);
}

TEST_CASE("sizes grow by a factor or a step and never pass the maximum") {
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes_between(8, 64, 2, 0) == Sizes{8, 16, 32, 64});
  CHECK(sizes_between(8, 63, 2, 0) == Sizes{8, 16, 32});
  CHECK(sizes_between(8, 8, 2, 0) == Sizes{8});
  CHECK(sizes_between(8, 40, 0, 16) == Sizes{8, 24, 40});
  CHECK(sizes_between(4, 8, 1.1, 0) == Sizes{4, 5, 6, 7, 8});  // each size adds at least one byte
  CHECK(sizes_between(std::int64_t{1} << 61, std::int64_t{1} << 62, 2, 0).size() == 2);
  CHECK(sizes_between(1, INT64_MAX, 1e10, 0).size() == 2);
}

TEST_CASE("sizes become whole elements of equal parts, each once") {
  const std::vector<std::int64_t> sizes = {8, 16, 32, 64};
  const auto numels = [&](Operation operation, int ranks) {
    std::vector<std::int64_t> all;
    for (const Problem& problem : at_sizes({.operation = operation, .num_ranks = ranks}, sizes))
      all.push_back(problem.numel);
    return all;
  };
  CHECK(numels(Operation::all_reduce, 3) == std::vector<std::int64_t>{2, 4, 8, 16});
  CHECK(numels(Operation::all_gather, 3) == std::vector<std::int64_t>{3, 6, 15});
  CHECK(numels(Operation::reduce_scatter, 16) == std::vector<std::int64_t>{16});
  CHECK(numels(Operation::barrier, 3) == std::vector<std::int64_t>{0});
}

TEST_CASE("what ranks give and get fits together") {
  const Problem gather{.operation = Operation::all_gather, .num_ranks = 4, .numel = 8};
  CHECK(gather.in_count() == 2);
  CHECK(gather.in_begin(3) == 6);
  CHECK(gather.out_count() == 8);
  CHECK(gather.count() == 2);
  CHECK(gather.bytes() == 32);
  const Problem scatter{.operation = Operation::reduce_scatter, .num_ranks = 4, .numel = 8};
  CHECK(scatter.in_count() == 8);
  CHECK(scatter.out_count() == 2);
  CHECK(scatter.out_begin(1) == 2);
  const Problem reduce{.operation = Operation::all_reduce, .num_ranks = 4, .numel = 8};
  CHECK(reduce.in_count() == 8);
  CHECK(reduce.out_count() == 8);
  CHECK(reduce.count() == 8);
}
