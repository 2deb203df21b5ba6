#pragma once
// Guards at the kernels' doors.

#include <initializer_list>

#include "kernels/slice.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Error{internal} naming kernel, tensor and both shapes unless `tensor` has this dtype and shape, and no
/// padded rows.
void check_tensor(const char* kernel, const char* name, const Tensor& tensor, DType dtype,
                  std::initializer_list<std::int64_t> shape);

/// Error{internal} unless `gradient` has this shape and a dtype that gradients of parameters may have beside
/// tensors of `dtype`: f64 for f64, else f32 or bf16.
void check_gradient(const char* kernel, const char* name, const Tensor& gradient, DType dtype,
                    std::initializer_list<std::int64_t> shape);

/// Error{internal} unless `tensor` has this rank, and no padded rows.
void check_rank(const char* kernel, const char* name, const Tensor& tensor, int rank);

/// Of a kernel that knows Tensor::pitch on GPUs. Error{internal} unless `matrix` has two dims and, on the
/// host, no padded rows.
void check_matrix(const char* kernel, const char* name, const Tensor& matrix);
/// Also unless it has this dtype and shape.
void check_matrix(const char* kernel, const char* name, const Tensor& matrix, DType dtype,
                  std::initializer_list<std::int64_t> shape);

/// Error{internal} unless every one of the int32 ids lies in [lowest, end). Not of those that lie on a
/// GPU: reading them would wait for it.
void check_ids(const char* kernel, const Tensor& ids, std::int64_t lowest, std::int64_t end);

/// The whole dim of which a tensor has `held`. Error{internal} unless the slice lies in it.
std::int64_t check_slice(const char* kernel, const Slice& slice, std::int64_t held);

}  // namespace dt::kernels
