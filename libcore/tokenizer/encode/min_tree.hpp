#pragma once
// Finds the smallest of many numbers that change one at a time.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/numeric/integer.hpp"

namespace dt::tokenizer {

/// Levels of numbers. Each number of a level is the smallest of eight neighbours in the level below.
class MinTree {
 public:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  /// Starts with `size` places that all hold `nothing`. Keeps its memory.
  void reset(std::size_t size) {
    num_levels_ = 0;
    do {
      size = round_up(size, fan_out);
      levels_[num_levels_++].assign(size, nothing);
      size /= fan_out;
    } while (size > 1);
  }

  /// Sets a number without the levels above. The caller then calls build().
  void put(std::size_t place, std::uint64_t value) { levels_[0][place] = value; }
  void build() {
    for (std::size_t level = 1; level < num_levels_; ++level) {
      for (std::size_t i = 0; i * fan_out < levels_[level - 1].size(); ++i)
        levels_[level][i] = of_eight(level - 1, i);
    }
  }

  void set(std::size_t place, std::uint64_t value) {
    levels_[0][place] = value;
    for (std::size_t level = 1; level < num_levels_; ++level) {
      place /= fan_out;
      const std::uint64_t smallest = of_eight(level - 1, place);
      if (levels_[level][place] == smallest) return;
      levels_[level][place] = smallest;
    }
  }

  std::uint64_t smallest() const { return of_eight(num_levels_ - 1, 0); }

 private:
  static constexpr std::size_t fan_out = 8;
  std::uint64_t of_eight(std::size_t level, std::size_t index) const {
    const std::uint64_t* const v = &levels_[level][index * fan_out];
    return std::min(std::min(std::min(v[0], v[1]), std::min(v[2], v[3])),
                    std::min(std::min(v[4], v[5]), std::min(v[6], v[7])));
  }
  std::array<std::vector<std::uint64_t>, 22> levels_;  // the numbers themselves are level 0
  std::size_t num_levels_ = 0;
};

}  // namespace dt::tokenizer
