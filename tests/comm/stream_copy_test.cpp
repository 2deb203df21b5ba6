// Copies and reductions past the caches leave the bits of plain ones, at every border of lines and blocks.

#include "comm/core/stream_copy.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "comm/core/reduction.hpp"
#include "tensor/buffer.hpp"

using namespace dt;
using namespace dt::comm;

namespace {

constexpr std::array<std::size_t, 9> sizes = {0, 1, 63, 64, 65, 1023, 1024, 4100, 70'001};
constexpr std::size_t most = 70'016;

struct Bytes {
  Buffer buffer{Device::host(), most};
  explicit Bytes(unsigned seed) {
    for (std::size_t i = 0; i < most; ++i) buffer.data()[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  }
  std::span<std::byte> first(std::size_t bytes) { return {buffer.data(), bytes}; }
  std::vector<std::byte> values() { return {buffer.data(), buffer.data() + most}; }
};

std::vector<std::byte> replaced(std::vector<std::byte> old, const std::vector<std::byte>& by,
                                std::size_t bytes) {
  std::copy_n(by.begin(), bytes, old.begin());
  return old;
}

}  // namespace

TEST_CASE("a copy is one, wherever it comes from and goes, and writes nothing beside") {
  for (const std::size_t bytes : sizes) {
    for (const Source source : {Source::memory, Source::other_core, Source::handed_over}) {
      for (const StoreKind stores : {StoreKind::cached, StoreKind::streamed}) {
        Bytes from(1), to(2);
        const auto expected = replaced(to.values(), from.values(), bytes);
        copy(from.first(bytes), to.first(bytes), source, stores);
        CHECK(to.values() == expected);
      }
    }
  }
}

TEST_CASE("a slot is emptied and refilled by different sizes") {
  for (const std::size_t out_bytes : sizes) {
    for (const std::size_t next_bytes : sizes) {
      for (const StoreKind stores : {StoreKind::cached, StoreKind::streamed}) {
        Bytes slot(1), out(2), next(3);
        const auto expected_out = replaced(out.values(), slot.values(), out_bytes);
        const auto expected_slot = replaced(slot.values(), next.values(), next_bytes);
        refill(slot.first(std::max(out_bytes, next_bytes)), out.first(out_bytes), next.first(next_bytes),
               stores);
        CHECK(out.values() == expected_out);
        CHECK(slot.values() == expected_slot);
      }
    }
  }
}

TEST_CASE("what is combined in slots has the bits of combine(), in all slots and the output") {
  for (const std::size_t own : {0, 1, 2}) {
    for (const StoreKind stores : {StoreKind::cached, StoreKind::streamed}) {
      for (const std::int64_t numel : {1, 255, 256, 257, 17'503}) {
        std::array<Bytes, 3> data{Bytes(1), Bytes(2), Bytes(3)};
        Bytes out(4), expected(4);
        std::vector<Tensor> inputs;
        for (Bytes& one : data) inputs.emplace_back(one.buffer, DType::i32, Shape{numel});
        const Tensor expected_view(expected.buffer, DType::i32, {numel});
        combine(Reduction::sum, inputs, expected_view);
        combine_in_slots(Reduction::sum, inputs, own, Tensor(out.buffer, DType::i32, {numel}), stores);
        CHECK(out.values() == expected.values());
        for (std::size_t rank = 0; rank < data.size(); ++rank) {
          const std::vector<std::byte> before = Bytes(static_cast<unsigned>(rank + 1)).values();
          const auto bytes = rank == own ? 0 : static_cast<std::size_t>(numel) * 4;
          CHECK(data[rank].values() == replaced(before, expected.values(), bytes));
        }
      }
    }
  }
}
