#include "kernels/check.hpp"

#include <algorithm>

#include "kernels/element_types.hpp"

namespace dt::kernels {

namespace {

void check_type(const char* kernel, const char* name, const Tensor& tensor, DType dtype,
                std::initializer_list<std::int64_t> shape) {
  const auto& dims = tensor.shape().dims();
  // Compared in place, since building a Shape for every call would allocate.
  const bool same =
      tensor.dtype() == dtype && std::equal(dims.begin(), dims.end(), shape.begin(), shape.end());
  DT_CHECK(same, "{}: {} is {} {}, expected {} {}", kernel, name, dtype_name(tensor.dtype()),
           tensor.shape().to_string(), dtype_name(dtype), Shape(shape).to_string());
}

void check_dims(const char* kernel, const char* name, const Tensor& tensor, int rank) {
  DT_CHECK(tensor.shape().rank() == rank, "{}: {} has the shape {}, expected {} dims", kernel, name,
           tensor.shape().to_string(), rank);
}

void check_pitch(const char* kernel, const char* name, const Tensor& tensor, bool may_be_padded) {
  DT_CHECK(may_be_padded || !tensor.has_padded_rows(), "{}: {} has padded rows", kernel, name);
}

}  // namespace

void check_tensor(const char* kernel, const char* name, const Tensor& tensor, DType dtype,
                  std::initializer_list<std::int64_t> shape) {
  check_type(kernel, name, tensor, dtype, shape);
  check_pitch(kernel, name, tensor, false);
}

void check_matrix(const char* kernel, const char* name, const Tensor& matrix) {
  check_dims(kernel, name, matrix, 2);
  check_pitch(kernel, name, matrix, matrix.device() != Device::host());
}

void check_matrix(const char* kernel, const char* name, const Tensor& matrix, DType dtype,
                  std::initializer_list<std::int64_t> shape) {
  check_type(kernel, name, matrix, dtype, shape);
  check_matrix(kernel, name, matrix);
}

void check_gradient(const char* kernel, const char* name, const Tensor& gradient, DType dtype,
                    std::initializer_list<std::int64_t> shape) {
  const bool is_narrow = dtype != DType::f64 && has_dtype(NarrowGradientTypes(), gradient.dtype());
  check_tensor(kernel, name, gradient, is_narrow ? gradient.dtype() : statistics_dtype(dtype), shape);
}

void check_rank(const char* kernel, const char* name, const Tensor& tensor, int rank) {
  check_dims(kernel, name, tensor, rank);
  check_pitch(kernel, name, tensor, false);
}

void check_ids(const char* kernel, const Tensor& ids, std::int64_t lowest, std::int64_t end) {
  if (ids.device() != Device::host()) return;
  for (const std::int32_t id : ids.span<std::int32_t>()) {
    DT_CHECK(id >= lowest && id < end, "{}: the id {} lies outside [{}, {})", kernel, id, lowest, end);
  }
}

std::int64_t check_shard(const char* kernel, const DimShard& shard, std::int64_t held) {
  const std::int64_t total = shard.total == 0 ? held : shard.total, end = shard.first + held;
  DT_CHECK(shard.first >= 0 && end <= total, "{}: the slice [{}, {}) lies outside of {}", kernel, shard.first,
           end, total);
  return total;
}

}  // namespace dt::kernels
