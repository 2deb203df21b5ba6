#include "tensor/shape.hpp"

#include "base/error.hpp"

namespace dt {

std::int64_t Shape::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : dims_) {
    DT_CHECK(extent >= 0 && !__builtin_mul_overflow(count, extent, &count),
             "shape {} has no number of elements", to_string());
  }
  return count;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const std::int64_t extent : dims_) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  text += ']';
  return text;
}

}  // namespace dt
