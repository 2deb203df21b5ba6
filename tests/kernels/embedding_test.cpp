#include "kernels/embedding.hpp"

#include <catch2/catch.hpp>

#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("embedding copies or adds the rows that the ids name") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor table = f.values({3, 2}, {1, 2, 3, 4, 5, 6}), y = f.output({2, 2});
    embedding(context, f.ids({2, 0}), table, false, y);
    CHECK(to_doubles(y) == std::vector<double>{5, 6, 1, 2});
    embedding(context, f.ids({1, 1}), table, true, y);
    CHECK(to_doubles(y) == std::vector<double>{8, 10, 4, 6});
  }
}

TEST_CASE("embedding_backward adds each row to its id's, also where ids repeat") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor dtable = f.values({3, 1}, {10, 20, 30});
    embedding_backward(context, f.ids({2, 0, 2}), f.values({3, 1}, {1, 2, 3}), dtable);
    CHECK(to_doubles(dtable) == std::vector<double>{12, 20, 34});
  }
}

TEST_CASE("fast embedding has its reference's bits in fp32, and rounds 16-bit sums", "[device]") {
  struct Sizes {
    std::int64_t R, V, C;
  };
  for (const auto& [R_, V_, C_] : {Sizes{1, 1, 1}, Sizes{9, 4, 7}, Sizes{300, 50, 65}, Sizes{40, 100, 768},
                                   Sizes{1025, 2000, 5}, Sizes{1500, 200, 3}}) {
    const std::int64_t R = R_, V = V_, C = C_;
    for (const bool add : {false, true}) {
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor ids = f.random_ids(R, 0, static_cast<std::int32_t>(V), 1), table = f.random({V, C}, 2);
        const Tensor y = f.random({R, C}, 3), dtable = f.random_gradient({V, C}, 4, add);
        embedding(f.context, ids, table, add, y);
        embedding_backward(f.context, ids, f.random({R, C}, 5), dtable);
        return {y, dtable};
      };
      check_fast_kernel(run, Threads::any, 1e-30);
      check_fast_half_kernel(run, Threads::any, 1e-2);
      check_gpu_kernel(run);
    }
  }
}

TEST_CASE("a table's gradient in bf16 takes rows in fp32 and fp16", "[device]") {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const Case run = [](Fixture& f) -> std::vector<Tensor> {
      const Tensor dtable = f.random_in(DType::bf16, {5, 9}, 1);
      embedding_backward(f.context, f.random_ids(7, 0, 5, 2), f.random({7, 9}, 3), dtable);
      return {dtable};
    };
    check_gpu_as_cpu(dtype, run, 1e-2);  // the CPU rounds after each row
  }
}

TEST_CASE("a slice of the table gives the rows that it has, and takes their gradients") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor ids = f.ids({4, 1, 0, 2}), slice = f.values({2, 1}, {20, 30}), y = f.output({4, 1});
    embedding(context, ids, slice, false, y, {1, 5});  // rows 1 and 2 of 5
    CHECK(to_doubles(y) == std::vector<double>{0, 20, 0, 30});
    const Tensor sum = f.values({4, 1}, {1, 2, 3, 4});
    embedding(context, ids, slice, true, sum, {1, 5});
    CHECK(to_doubles(sum) == std::vector<double>{1, 22, 3, 34});
    embedding_backward(context, ids, f.values({4, 1}, {1, 2, 3, 4}), slice, {1, 5});
    CHECK(to_doubles(slice) == std::vector<double>{22, 34});
  }
}

TEST_CASE("fast embedding of slices agrees with its reference, and their rows are the whole table's",
          "[device]") {
  constexpr std::int64_t R = 150, V = 50, C = 65;
  for (const auto& [begin_, end_] : {std::pair{0, 1}, std::pair{1, 30}, std::pair{30, 50}, std::pair{7, 7}}) {
    const std::int64_t begin = begin_, end = end_;
    for (const bool add : {false, true}) {
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor ids = f.random_ids(R, 0, V, 1), table = f.random({V, C}, 2), dy = f.random({R, C}, 5);
        const Tensor y = f.random({R, C}, 3), whole = f.random_gradient({V, C}, 4, add);
        const Tensor slice = f.random_gradient({V, C}, 4, add).rows(begin, end);
        embedding(f.context, ids, table.rows(begin, end), add, y, {begin, V});
        embedding_backward(f.context, ids, dy, whole);
        embedding_backward(f.context, ids, dy, slice, {begin, V});
        CHECK(same_bits(f.on_host(slice), f.on_host(whole.rows(begin, end))));
        return {y, slice};
      };
      check_fast_kernel(run, Threads::any, 1e-30);
      check_fast_half_kernel(run, Threads::any, 1e-2);
      check_gpu_kernel(run);
    }
  }
}

TEST_CASE("embedding refuses ids outside the table") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor table = f.random({3, 2}, 1), y = f.output({2, 2});
  check_refused("embedding", [&] { embedding(context, f.ids({0, 3}), table, false, y); });
  check_refused("embedding", [&] { embedding(context, f.ids({0, -1}), table, false, y); });
  check_refused("embedding", [&] { embedding(context, f.ids({0}), table, false, y); });
  check_refused("embedding_backward", [&] { embedding_backward(context, f.ids({0, 3}), y, table); });
  check_refused("embedding", [&] { embedding(context, f.ids({0, 5}), table, false, y, {1, 5}); });
  check_refused("embedding_backward", [&] { embedding_backward(context, f.ids({0, 5}), y, table, {1, 5}); });
}

TEST_CASE("on a GPU ids outside the table are rows of 0, and their gradients are dropped", "[device]") {
  on_test_device(DType::f32, 1, [](Fixture& f) {
    const Tensor ids = f.ids({3, 1, -1, 1}), table = f.values({3, 1}, {1, 2, 3}), y = f.output({4, 1});
    embedding(f.context, ids, table, false, y);
    embedding_backward(f.context, ids, f.values({4, 1}, {10, 20, 30, 40}), table);
    CHECK(to_doubles(f.on_host(y)) == std::vector<double>{0, 2, 0, 2});
    CHECK(to_doubles(f.on_host(table)) == std::vector<double>{1, 62, 3});
  });
}

TEST_CASE("embedding refuses a slice that is not one of the table") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor table = f.random({3, 2}, 1), y = f.output({2, 2}), ids = f.ids({0, 1});
  for (const DimShard& slice : {DimShard{-1, 5}, DimShard{3, 5}, DimShard{0, 2}, DimShard{1, 0}}) {
    check_refused("embedding", [&] { embedding(context, ids, table, false, y, slice); });
    check_refused("embedding_backward", [&] { embedding_backward(context, ids, y, table, slice); });
  }
}

}  // namespace
}  // namespace dt::kernels::test
