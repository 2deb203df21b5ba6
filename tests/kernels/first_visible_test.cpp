// Tests the first key that each row sees, in windows and documents.
#include <catch2/catch.hpp>

#include "kernels/attention.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("a window ends at the row's own key and does not reach behind a start") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor first = f.ids(std::vector<std::int32_t>(10, -9));
  const auto values = [&] {
    const auto span = first.span<std::int32_t>();
    return std::vector<std::int32_t>(span.begin(), span.end());
  };
  first_visible(context, 5, 0, 3, {}, first);
  CHECK(values() == std::vector<std::int32_t>{0, 0, 0, 1, 2, 0, 0, 0, 1, 2});
  first_visible(context, 5, 0, 1, {}, first);
  CHECK(values() == std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  first_visible(context, 5, 0, 3, f.ids({0, 1, 1, 1, 4, 0, 0, 0, 3, 3}), first);
  CHECK(values() == std::vector<std::int32_t>{0, 1, 1, 1, 4, 0, 0, 0, 3, 3});
}

TEST_CASE("GPUs find the first visible keys that the reference finds", "[device]") {
  struct Window {
    std::int64_t sequences, sequence, position, window;
  };
  const auto found = [](Fixture& f, const Window& w, bool has_starts) {
    const std::int64_t rows = w.sequences * w.sequence;
    const Tensor starts =
        has_starts ? f.random_ids(rows, 0, static_cast<std::int32_t>(w.position + w.sequence), 3) : Tensor();
    const Tensor first = f.random_ids(rows, -9, -1, 4);
    first_visible(f.context, w.sequence, w.position, w.window, starts, first);
    const auto values = f.on_host(first).span<std::int32_t>();
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  for (const Window& w :
       {Window{1, 1, 0, 1}, Window{1, 1, 5, 2}, Window{2, 7, 0, 3}, Window{3, 5, 9, 4}, Window{1, 33, 0, 32},
        Window{4, 64, 64, 64}, Window{1, 255, 0, 7}, Window{1, 256, 3, 100}, Window{1, 257, 0, 1},
        Window{5, 77, 1000, 900}, Window{2, 1000, 0, 2000}, Window{1, 2049, 7, 512}}) {
    for (const bool has_starts : {false, true}) {
      CAPTURE(w.sequences, w.sequence, w.position, w.window, has_starts);
      const Context context(1, Device::host());
      Fixture host(context, DType::f32);
      const std::vector<std::int32_t> expected = found(host, w, has_starts);
      for (const std::uint64_t seed : {1, 2})
        on_test_device(DType::f32, seed, [&](Fixture& f) { CHECK(found(f, w, has_starts) == expected); });
    }
  }
}

TEST_CASE("a window of queries from a position on ends at their own keys") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor first = f.ids(std::vector<std::int32_t>(4));
  first_visible(context, 2, 7, 3, f.ids({0, 0, 6, 6}), first);
  const auto values = first.span<std::int32_t>();
  CHECK(std::vector<std::int32_t>(values.begin(), values.end()) == std::vector<std::int32_t>{5, 6, 6, 6});
}

}  // namespace
}  // namespace dt::kernels::test
