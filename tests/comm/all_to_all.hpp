#pragma once
// Checks exchanges of parts of many sizes: element i of what rank p gives rank q is known to both.

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <utility>
#include <vector>

#include "comm/backend.hpp"
#include "comm/samples.hpp"

namespace dt::comm::test {

/// Returns the number of elements that one rank gives another.
using CountOf = std::function<std::int64_t(int from, int to)>;

/// Appends what one rank gives another.
inline void add_given_bytes(int from, int to, std::size_t count, std::vector<std::uint8_t>& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + count);
  for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random_bits(1000 * from + to, static_cast<std::int64_t>(i));
    std::memcpy(bytes.data() + begin + i, &bits, std::min(sizeof bits, count - i));
  }
}

/// The parts that a rank gives, and those that it must get, in bytes.
struct Parts {
  std::vector<std::int64_t> in_counts{}, out_counts{};
  std::vector<std::uint8_t> in{}, expected{};

  Parts(const Communicator& group, const CountOf& count_of, std::int64_t element_bytes) {
    const auto add = [&](std::vector<std::int64_t>& counts, std::vector<std::uint8_t>& bytes, int from,
                         int to) {
      counts.push_back(count_of(from, to));
      add_given_bytes(from, to, static_cast<std::size_t>(counts.back() * element_bytes), bytes);
    };
    for (int peer = 0; peer < group.size(); ++peer) {
      add(in_counts, in, group.rank(), peer);
      add(out_counts, expected, peer, group.rank());
    }
  }
};

inline Tensor view_of(std::span<std::uint8_t> bytes, DType dtype) {
  const auto numel = std::ssize(bytes) / static_cast<std::int64_t>(dtype_bytes(dtype));
  return {bytes.data(), dtype, {numel}, Device::host()};
}

/// The numbers of elements with which groups are tested. `largest` bytes exceed a segment or chunk.
inline std::vector<std::pair<std::string, CountOf>> all_counts(int size, std::int64_t largest) {
  const auto even = [](std::int64_t count) { return [count](int, int) { return count; }; };
  return {
      {"nothing", even(0)},
      {"one element each", even(1)},
      {"equal parts", even(100)},
      {"parts of all sizes", [](int from, int to) { return std::int64_t{7} * from + std::int64_t{3} * to; }},
      {"one part alone",
       [=](int from, int to) { return from == size - 1 && to == 0 ? std::int64_t{5} : std::int64_t{0}; }},
      {"parts small and large",
       [=](int from, int to) { return (from + 2 * to) % 3 == 0 ? largest : std::int64_t{11} * to; }}};
}

}  // namespace dt::comm::test
