#include "tensor/tensor.hpp"

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

Tensor::Tensor(const Buffer& buffer, DType dtype, Shape shape, std::size_t begin)
    : Tensor(buffer.data() == nullptr ? nullptr : buffer.data() + begin, dtype, std::move(shape),
             buffer.device()) {
  DT_CHECK(begin <= buffer.bytes() && bytes() <= buffer.bytes() - begin,
           "a {} tensor of shape {} from byte {} on does not fit into {} bytes", dtype_name(dtype_),
           shape_.to_string(), begin, buffer.bytes());
}

Tensor Tensor::reshaped(Shape shape) const {
  check_contiguous();
  DT_CHECK(shape.numel() == numel(), "a tensor of shape {} cannot take the shape {}", shape_.to_string(),
           shape.to_string());
  return Tensor(data_, dtype_, std::move(shape), device_);
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  DT_CHECK(shape_.rank() >= 1 && begin >= 0 && begin <= end && end <= shape_[0],
           "rows {} to {} are outside a tensor of shape {}", begin, end, shape_.to_string());
  std::vector<std::int64_t> dims = shape_.dims();
  dims[0] = 1;
  const std::int64_t row_numel = Shape(dims).numel();
  dims[0] = end - begin;
  const std::size_t offset = storage_bytes(dtype_, begin * (row_numel + padding_));
  Tensor rows(data_ == nullptr ? nullptr : data_ + offset, dtype_, Shape(std::move(dims)), device_);
  rows.padding_ = padding_;
  return rows;
}

Tensor Tensor::first_columns(std::int64_t count) const {
  DT_CHECK(shape_.rank() == 2 && count >= 0 && count <= shape_[1],
           "the first {} columns are not those of a tensor of shape {}", count, shape_.to_string());
  Tensor columns(data_, dtype_, {shape_[0], count}, device_);
  columns.padding_ = pitch() - count;
  return columns;
}

Tensor Tensor::flat(std::int64_t begin, std::int64_t count) const {
  check_contiguous();
  DT_CHECK(begin >= 0 && count >= 0 && begin <= numel() && count <= numel() - begin,
           "elements {} to {} are outside a tensor of shape {}", begin, begin + count, shape_.to_string());
  const std::size_t offset = storage_bytes(dtype_, begin);
  return Tensor(data_ == nullptr ? nullptr : data_ + offset, dtype_, Shape{count}, device_);
}

}  // namespace dt
