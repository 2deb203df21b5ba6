#pragma once
// The extents of a tensor, row-major, outermost first.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace dt {

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

}  // namespace dt
