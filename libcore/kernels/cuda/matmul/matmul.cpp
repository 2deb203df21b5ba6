#include "kernels/cuda/matmul/matmul.hpp"

#include "base/error.hpp"
#include "kernels/cuda/launch/kernel_key.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"

namespace dt::kernels::cuda {

namespace {

/// Returns the bias, or a copy of it in scratch memory if the library must not have it where it
/// lies. So the bits do not depend on the bias's address, which depends on how ranks divide
/// parameters.
Tensor aligned(const Context& context, const Tensor& bias_N) {
  if (!bias_N || reinterpret_cast<std::uintptr_t>(bias_N.raw()) % bias_alignment == 0) return bias_N;
  const Tensor copy = context.scratch().allocate(bias_N.dtype(), bias_N.shape());
  kernels::copy(context, bias_N, copy);
  return copy;
}

/// Returns columns [begin, end) of a matrix.
Tensor columns(const Tensor& matrix, std::int64_t begin, std::int64_t end) {
  std::byte* const first = matrix.raw() + static_cast<std::size_t>(begin) * dtype_bytes(matrix.dtype());
  return Tensor(first, matrix.dtype(), {matrix.dim(0), matrix.pitch()}, matrix.device())
      .first_columns(end - begin);
}

}  // namespace

WorkKey key_of(const Context& context, const Matmul& product) {
  WorkKey key("product", product.arithmetic_in(context), product.left.transposed, product.right.transposed);
  for (const Tensor* tensor :
       {&product.left.stored, &product.right.stored, &product.bias_N, &product.added_MN, &product.output_MN})
    add_tensor(key, *tensor);
  return key;
}

void matmul(const Context& context, const Matmul& product) {
  const Arena::Scope scope(context.scratch());
  Matmul p = product;
  p.bias_N = aligned(context, product.bias_N);
  if (enqueue_matmul(context, p)) return;
  p.bias_N = Tensor();
  if (!product.bias_N || !enqueue_matmul(context, p)) {
    throw Error(
        ErrorKind::environment,
        fmt::format("{}: {} has no algorithm for a product of {} into {} {}", context.device().to_string(),
                    matmul_library(), dtype_name(product.left.stored.dtype()),
                    dtype_name(product.output_MN.dtype()), product.output_MN.shape().to_string()));
  }
  cuda::add_bias_residual(context, product.output_MN, product.bias_N, Tensor(), product.output_MN);
}

std::vector<Matmul> weight_gradient_matmuls(const Tensor& dy_RN, const Tensor& x_RK, const Tensor& added_NK,
                                            const Tensor& to_NK) {
  const auto of_features = [&](std::int64_t begin, std::int64_t end) -> Matmul {
    return {.left = {columns(dy_RN, begin, end), true},
            .right = {x_RK},
            .bias_N = Tensor(),
            .added_MN = added_NK ? added_NK.rows(begin, end) : Tensor(),
            .output_MN = to_NK.rows(begin, end)};
  };
  const std::int64_t N = dy_RN.dim(1), packed = round_down_to_vec(dy_RN.dtype(), N);
  if (packed == N || packed == 0 || round_down_to_vec(dy_RN.dtype(), dy_RN.pitch()) != dy_RN.pitch())
    return {of_features(0, N)};
  return {of_features(0, packed), of_features(packed, N)};
}

}  // namespace dt::kernels::cuda
