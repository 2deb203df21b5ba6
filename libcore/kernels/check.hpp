#pragma once
// Argument checks of kernels.

#include <initializer_list>

#include "kernels/dim_shard.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels {

/// Checks a tensor's dtype, shape and lack of padded rows.
/// Errors: internal, naming kernel, tensor and both shapes.
void check_tensor(const char* kernel, const char* name, const Tensor& tensor, DType dtype,
                  std::initializer_list<std::int64_t> shape);

/// Checks that `gradient` has this shape, and a dtype that gradients of parameters may have with
/// tensors of `dtype`: f64 for f64, else f32 or bf16.
/// Errors: internal.
void check_gradient(const char* kernel, const char* name, const Tensor& gradient, DType dtype,
                    std::initializer_list<std::int64_t> shape);

/// Checks a tensor's rank and lack of padded rows.
/// Errors: internal.
void check_rank(const char* kernel, const char* name, const Tensor& tensor, int rank);

/// Checks that `matrix` has two dims and, on the host, no padded rows. Used by kernels that support
/// Tensor::pitch on GPUs.
/// Errors: internal.
void check_matrix(const char* kernel, const char* name, const Tensor& matrix);
/// Also checks dtype and shape.
void check_matrix(const char* kernel, const char* name, const Tensor& matrix, DType dtype,
                  std::initializer_list<std::int64_t> shape);

/// Checks that all of the int32 ids are in [lowest, end). Does not check ids on a GPU, since
/// reading them would wait for it.
/// Errors: internal.
void check_ids(const char* kernel, const Tensor& ids, std::int64_t lowest, std::int64_t end);

/// Returns the whole dim of which a tensor has `held`.
/// Errors: internal if the shard is not within the dim.
std::int64_t check_shard(const char* kernel, const DimShard& shard, std::int64_t held);

}  // namespace dt::kernels
