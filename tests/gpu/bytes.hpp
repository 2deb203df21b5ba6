#pragma once
// Rates at which a GPU's kernels move the bytes that they must move: memory bounds all of them.

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/context.hpp"

namespace dt::test_device {

struct Rate {
  std::string kernel;
  double bytes;  // bytes that it must read and write, each once
  double seconds;
  double bytes_per_s() const { return bytes / seconds; }
};

/// Measures a copy first, and then kernels of 16-bit training, on `rows` rows of tokens. Each runs `times`
/// times in a row.
std::vector<Rate> kernel_rates(const Context& context, std::int64_t rows, int times);

}  // namespace dt::test_device
