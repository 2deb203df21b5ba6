#include "tensor/arena.hpp"

#include <catch2/catch.hpp>
#include <cstring>

using namespace dt;

namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

}  // namespace

TEST_CASE("allocations are aligned and do not overlap") {
  Arena arena(Device::host());
  const Arena::Scope scope(arena);
  const Tensor a = arena.allocate(DType::f32, {3});
  const Tensor b = arena.allocate(DType::u8, {1});
  const Tensor c = arena.allocate(DType::f64, {100, 2});
  CHECK(reinterpret_cast<std::uintptr_t>(b.raw()) % 64 == 0);
  CHECK(b.raw() >= a.raw() + a.bytes());
  CHECK(c.raw() >= b.raw() + b.bytes());
  CHECK(c.shape() == Shape{100, 2});
  CHECK(arena.allocate(DType::f32, {0, 4}));
}

TEST_CASE("a scope gives back what was allocated in it") {
  Arena arena(Device::host());
  const Arena::Scope outer(arena);
  const Tensor kept = arena.allocate(DType::f32, {10});
  std::byte* inner_data = nullptr;
  {
    const Arena::Scope inner(arena);
    inner_data = arena.allocate(DType::f32, {10}).raw();
  }
  CHECK(arena.allocate(DType::f32, {10}).raw() == inner_data);
  CHECK(inner_data != kept.raw());
}

TEST_CASE("after a scope that outgrew the first chunk, allocation goes on in the first") {
  Arena arena(Device::host());
  const Arena::Scope scope(arena);
  std::byte* first = arena.allocate(DType::u8, {64}).raw();
  {
    const Arena::Scope inner(arena);
    arena.allocate(DType::u8, {10 * mebi});
  }
  CHECK(arena.allocate(DType::u8, {64}).raw() == first + 64);
}

TEST_CASE("earlier memory stays where it is when the arena grows") {
  Arena arena(Device::host());
  const Arena::Scope scope(arena);
  const Tensor first = arena.allocate(DType::u8, {100});
  std::memset(first.raw(), 7, 100);
  for (int i = 0; i < 10; ++i) std::memset(arena.allocate(DType::u8, {mebi}).raw(), 1, mebi);
  CHECK(first.span<std::uint8_t>()[99] == 7);
}

TEST_CASE("after the largest demand nothing more is allocated") {
  Arena arena(Device::host());
  const auto demand = [&] {
    const Arena::Scope scope(arena);
    arena.allocate(DType::u8, {3 * mebi});
    for (int i = 0; i < 8; ++i) {
      const Arena::Scope inner(arena);
      arena.allocate(DType::u8, {(i + 1) * mebi});
      arena.allocate(DType::f32, {mebi});
    }
  };
  demand();
  demand();
  const std::size_t capacity = arena.capacity_bytes();
  std::byte* data = nullptr;
  for (int i = 0; i < 5; ++i) {
    demand();
    const Arena::Scope scope(arena);
    std::byte* now = arena.allocate(DType::u8, {1}).raw();
    CHECK((data == nullptr || data == now));
    data = now;
  }
  CHECK(arena.capacity_bytes() == capacity);
}
