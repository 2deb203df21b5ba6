#include "tensor/arithmetic.hpp"

#include <array>

namespace dt {

namespace {

constexpr std::array<std::string_view, 5> names{"fp32", "bf16", "amx", "amx-by-loops", "tf32"};

}  // namespace

std::string_view arithmetic_name(Arithmetic arithmetic) {
  return names[static_cast<std::size_t>(arithmetic)];
}

std::optional<Arithmetic> parse_arithmetic(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Arithmetic>(i);
  }
  return std::nullopt;
}

}  // namespace dt
