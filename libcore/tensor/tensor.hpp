#pragma once
// Shapes, and views of row-major elements in memory that another object owns. The elements are
// contiguous, except for matrices of padded rows.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/dtype.hpp"
#include "tensor/buffer.hpp"
#include "tensor/device/device.hpp"

namespace dt {

/// The extents of a tensor, row-major, outermost first.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  std::int64_t operator[](int dim) const { return dims_[static_cast<std::size_t>(dim)]; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  std::int64_t numel() const;
  /// Returns "[2, 1024, 768]".
  std::string to_string() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

/// A view of a tensor's elements. Copying a Tensor copies the view. An empty Tensor (no data) stands
/// for "absent", such as a bias that a model lacks.
/// Shapes: only a few kernels accept padded rows, and only on devices.
/// Errors: internal, a function that needs contiguous elements is called for a tensor with padded rows.
class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, DType dtype, Shape shape, Device device)
      : data_(static_cast<std::byte*>(data)), dtype_(dtype), device_(device), shape_(std::move(shape)) {}
  /// Creates a view of a buffer's memory, from byte `begin` on, on the buffer's device.
  Tensor(const Buffer& buffer, DType dtype, Shape shape, std::size_t begin = 0);

  explicit operator bool() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return shape_[i]; }
  std::int64_t numel() const { return shape_.numel(); }
  std::size_t bytes() const {
    check_contiguous();
    return storage_bytes(dtype_, numel());
  }
  std::byte* raw() const { return data_; }
  std::span<std::byte> span_bytes() const { return {data_, bytes()}; }

  /// Returns the elements as T; the dtype must be T's.
  template <class T>
  T* data() const {
    DT_CHECK(dtype_ == dtype_of<T>(), "a {} tensor is read as {}", dtype_name(dtype_),
             dtype_name(dtype_of<T>()));
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  std::span<T> span() const {
    check_contiguous();
    return {data<T>(), static_cast<std::size_t>(numel())};
  }

  /// Returns the same elements under another shape of equal count.
  Tensor reshaped(Shape shape) const;
  /// Returns rows [begin, end) of the outermost dim.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// Returns `count` elements from flat index `begin`, as a vector.
  Tensor flat(std::int64_t begin, std::int64_t count) const;

  /// Returns the first `count` columns of a matrix; the others become padding of its rows.
  Tensor first_columns(std::int64_t count) const;
  bool has_padded_rows() const { return padding_ != 0; }
  /// Returns the distance, in elements, between the starts of two consecutive rows of a matrix.
  std::int64_t pitch() const { return shape_[1] + padding_; }

 private:
  void check_contiguous() const {
    DT_CHECK(padding_ == 0, "a matrix of shape {} has padded rows, of {} elements", shape_.to_string(),
             pitch());
  }

  std::byte* data_ = nullptr;
  DType dtype_ = DType::f32;
  Device device_ = Device::host();  // no meaning if absent
  Shape shape_;
  std::int64_t padding_ = 0;  // elements behind each row of a matrix
};

}  // namespace dt
