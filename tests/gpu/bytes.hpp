#pragma once
// How fast kernels of a GPU move what they must move: memory is what all of these wait for.

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/context.hpp"

namespace dt::test_device {

struct Rate {
  std::string kernel;
  double bytes;  // that it must read and write, each once
  double seconds;
  double bytes_per_s() const { return bytes / seconds; }
};

/// Of a copy first, and then of kernels of 16-bit training, `times` of each one after the other, on so many
/// rows of tokens.
std::vector<Rate> kernel_rates(const Context& context, std::int64_t rows, int times);

}  // namespace dt::test_device
