// Reductions of every backend have the bits of the serial tree, on every rank.

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "comm/backend.hpp"
#include "comm/samples.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::comm;
using namespace dt::comm::test;

namespace {

struct Case {
  Reduction reduction;
  Values values;
  std::int64_t numel;
  bool in_place;
  std::int64_t granule = 1;  // a reduce_scatter's ranges are multiples of it

  std::string to_string(const Communicator& group, DType dtype) const {
    return fmt::format("{} of {} ranks, {}, {} elements, reduction {}, {}, {}", group.rank(), group.size(),
                       dtype_name(dtype), numel, static_cast<int>(reduction),
                       values == Values::wild ? "wild" : "small", in_place ? "in place" : "apart");
  }
};

template <DType dtype>
std::vector<typename Element<dtype>::Stored> inputs_of(const Communicator& group, const Case& c) {
  return repeated(c.numel, [&](std::int64_t i) { return sample<dtype>(c.values, group.rank(), i); });
}

template <DType dtype>
std::vector<typename Element<dtype>::Stored> results_of(const Communicator& group, const Case& c) {
  return repeated(c.numel,
                  [&](std::int64_t i) { return combined<dtype>(c.reduction, c.values, group.size(), i); });
}

template <class T>
void check_same(const T* actual, const T* expected, std::int64_t count, const std::string& what) {
  if (count == 0 || std::memcmp(actual, expected, static_cast<std::size_t>(count) * sizeof(T)) == 0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!same_bits(actual[i], expected[i])) {
      require(false, fmt::format("element {} is {} instead of {}: {}", i, actual[i], expected[i], what));
    }
  }
}

template <DType dtype>
void check_all_reduce(Communicator& group, const Case& c) {
  using Stored = typename Element<dtype>::Stored;
  const std::string what = "all_reduce, rank " + c.to_string(group, dtype);
  const std::vector<Stored> inputs = inputs_of<dtype>(group, c);
  Guarded<Stored> in(c.numel);
  Guarded<Stored> out(c.in_place ? 0 : c.numel);
  std::copy(inputs.begin(), inputs.end(), in.data());
  Guarded<Stored>& result = c.in_place ? in : out;
  group.all_reduce(in.view(dtype), result.view(dtype), c.reduction).wait_host();
  check_same(result.data(), results_of<dtype>(group, c).data(), c.numel, what);
  if (!c.in_place) check_same(in.data(), inputs.data(), c.numel, "input of " + what);
  require(in.is_intact() && out.is_intact(), "wrote outside: " + what);
}

template <DType dtype>
void check_reduce_scatter(Communicator& group, const Case& c) {
  using Stored = typename Element<dtype>::Stored;
  const std::string what = "reduce_scatter, rank " + c.to_string(group, dtype);
  const Range own = even_range(group.rank(), group.size(), c.numel, c.granule);
  std::vector<Stored> inputs = inputs_of<dtype>(group, c);
  const std::vector<Stored> results = results_of<dtype>(group, c);
  Guarded<Stored> in(c.numel);
  Guarded<Stored> out(c.in_place ? 0 : own.count);
  std::copy(inputs.begin(), inputs.end(), in.data());
  const Tensor target = c.in_place ? in.view(dtype).flat(own.begin, own.count) : out.view(dtype);
  group.reduce_scatter(in.view(dtype), target, c.reduction, c.granule).wait_host();
  check_same(c.in_place ? in.data() + own.begin : out.data(), results.data() + own.begin, own.count, what);
  if (c.in_place) std::copy_n(results.begin() + own.begin, own.count, inputs.begin() + own.begin);
  check_same(in.data(), inputs.data(), c.numel, "input of " + what);
  require(in.is_intact() && out.is_intact(), "wrote outside: " + what);
}

template <DType dtype>
void check_both(Communicator& group, const Case& c) {
  check_all_reduce<dtype>(group, c);
  check_reduce_scatter<dtype>(group, c);
}

template <class Body>
void for_each_dtype(const Body& body) {
  body.template operator()<DType::f64>();
  body.template operator()<DType::f32>();
  body.template operator()<DType::bf16>();
  body.template operator()<DType::f16>();
  body.template operator()<DType::i64>();
  body.template operator()<DType::i32>();
  body.template operator()<DType::u64>();
  body.template operator()<DType::u32>();
}

constexpr std::array all_reductions = {Reduction::sum, Reduction::product, Reduction::min, Reduction::max};

}  // namespace

TEST_CASE("all dtypes and reductions of few elements give the bits of the serial tree") {
  on_ranks([](Communicator& group) {
    const std::int64_t n = group.size();
    for_each_dtype([&]<DType dtype>() {
      for (const std::int64_t numel : {std::int64_t{0}, std::int64_t{1}, n - 1, n, n + 1, std::int64_t{37}}) {
        for (const Reduction reduction : all_reductions) {
          for (const bool in_place : {false, true}) {
            check_both<dtype>(group, {reduction, Values::small_integers, numel, in_place});
            check_both<dtype>(group, {reduction, Values::wild, numel, in_place});
          }
        }
      }
    });
  });
}

TEST_CASE("all dtypes and reductions of thousands of elements give the bits of the serial tree") {
  on_ranks([](Communicator& group) {
    for_each_dtype([&]<DType dtype>() {
      for (const Reduction reduction : all_reductions) {
        check_both<dtype>(group, {reduction, Values::wild, 2047, true});
        check_both<dtype>(group, {reduction, Values::wild, 8209, false});
      }
    });
  });
}

TEST_CASE("around the boundaries between the ways to reduce, results keep their bits") {
  on_ranks([](Communicator& group) {
    for (const std::int64_t boundary : {1024, 4096, 8192, 16384}) {
      for (const std::int64_t numel : {boundary - 1, boundary, boundary + 1}) {
        check_all_reduce<DType::f32>(group, {Reduction::sum, Values::wild, numel, true});
        check_all_reduce<DType::bf16>(group, {Reduction::sum, Values::wild, numel, false});
      }
    }
  });
}

TEST_CASE("around the boundaries of segments, results keep their bits") {
  on_ranks([](Communicator& group) {
    const std::int64_t segment = 65536;
    for (const std::int64_t numel : {segment - 1, segment * group.size(), segment * group.size() + 1}) {
      check_both<DType::f32>(group, {Reduction::sum, Values::wild, numel, true});
    }
  });
}

TEST_CASE("several megabytes keep the bits of the serial tree", "[slow]") {
  on_ranks([](Communicator& group) {
    const std::int64_t numel = 1'000'003;
    check_all_reduce<DType::f32>(group, {Reduction::sum, Values::wild, numel, true});
    check_reduce_scatter<DType::f32>(group, {Reduction::sum, Values::wild, numel, false});
    check_all_reduce<DType::bf16>(group, {Reduction::sum, Values::wild, numel, false});
    check_reduce_scatter<DType::i64>(group, {Reduction::max, Values::wild, numel, true});
  });
}

TEST_CASE("parts that start on granules, some of them empty, keep the bits of the serial tree") {
  on_ranks([](Communicator& group) {
    for (const std::int64_t numel : {0, 100, 4096, 4097, 3 * 4096 + 16, 50'000, 1'000'003}) {
      for (const bool in_place : {false, true}) {
        check_reduce_scatter<DType::f32>(group, {Reduction::sum, Values::wild, numel, in_place, 4096});
        check_reduce_scatter<DType::bf16>(group, {Reduction::sum, Values::wild, numel, in_place, 1000});
      }
    }
  });
}

TEST_CASE("a NaN of any rank is the result's, whatever the reduction") {
  on_ranks([](Communicator& group) {
    for (const Reduction reduction : all_reductions) {
      std::vector<float> values(100, static_cast<float>(group.rank()));
      if (group.rank() == group.size() / 2) values[50] = std::numeric_limits<float>::quiet_NaN();
      const Tensor view = host_tensor(values);
      group.all_reduce(view, view, reduction).wait_host();
      require(std::isnan(values[50]) && !std::isnan(values[49]), "a NaN was lost or spread");
    }
  });
}

TEST_CASE("where the order of operands shows, it is that of ranks, and all ranks see the same") {
  on_ranks([](Communicator& group) {
    for (const Reduction reduction : {Reduction::min, Reduction::max}) {
      for (const bool first_is_negative : {false, true}) {
        float zero = (group.rank() == 0) == first_is_negative ? -0.0F : 0.0F;
        const Tensor view = host_tensor(zero);
        group.all_reduce(view, view, reduction).wait_host();
        require(std::signbit(zero) == first_is_negative,
                "of equal operands another than the first was taken");
      }
    }
  });
}

TEST_CASE("elements without arithmetic are refused by all ranks alike") {
  on_ranks([](Communicator& group) {
    std::vector<std::uint8_t> bytes(10);
    const Tensor view = host_tensor(bytes);
    require(error_of([&] { group.all_reduce(view, view); }).kind() == ErrorKind::internal, "u8 was reduced");
    group.barrier().wait_host();
  });
}
