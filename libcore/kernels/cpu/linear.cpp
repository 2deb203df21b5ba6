#include "kernels/linear.hpp"

#include <chrono>

#include "kernels/arithmetic.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/gemm/gemm.hpp"
#include "kernels/cpu/kernels.hpp"

namespace dt::kernels::cpu {
namespace {

/// Returns the product left · right, each as stored or transposed, into `output`.
Product product(const Context& context, const Tensor& left, bool left_transposed, const Tensor& right,
                bool right_transposed, const Tensor& output) {
  Product p{};
  p.M = output.dim(0);
  p.N = output.dim(1);
  p.K = left.dim(left_transposed ? 0 : 1);
  p.operands = left.dtype();
  p.a = {left.raw(), left.dim(1), left_transposed};
  p.b = {right.raw(), right.dim(1), right_transposed};
  p.output = output.dtype();
  p.c = output.raw();
  p.c_stride = p.N;
  p.arithmetic =
      left.dtype() == operand_dtype(context.arithmetic()) ? context.arithmetic() : Arithmetic::fp32;
  return p;
}

}  // namespace

void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN) {
  Product p = product(context, x_RK, false, w_NK, true, y_RN);
  p.bias = bias_N.raw();
  p.bias_dtype = bias_N.dtype();
  p.residual = residual_RN.raw();
  p.residual_stride = p.N;
  multiply(context, p);
}

void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK) {
  multiply(context, product(context, dy_RN, false, w_NK, false, dx_RK));
}

void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N) {
  Product p = product(context, dy_RN, true, x_RK, false, dw_NK);
  p.accumulate = true;
  multiply(context, p);
  if (dbias_N) bias_backward(context, dy_RN, dbias_N);
}

void bias_backward(const Context& context, const Tensor& dy_RN, const Tensor& dbias_N) {
  add_column_sums(
      context, dy_RN.dim(0), dy_RN.dim(1), {dbias_N},
      [&](std::int64_t begin, std::int64_t end, float* sums) { sum_columns(dy_RN, begin, end, sums); });
}

double measure_matmul_rate(const Context& context, Arithmetic arithmetic, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto elapsed_s = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  constexpr std::int64_t n = 1536;
  const Arena::Scope scope(context.scratch());
  const Tensor abc = context.scratch().allocate(operand_dtype(arithmetic), {3, n, n});
  zero(context, abc);
  const auto matrix = [&](std::int64_t i) { return abc.flat(i * n * n, n * n).reshaped({n, n}); };
  Product p = product(context, matrix(0), false, matrix(1), true, matrix(2));
  p.arithmetic = arithmetic;
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto before = Clock::now();
    cpu::multiply(context, p);
    best = std::max(best, 2.0 * n * n * n / elapsed_s(before));
  } while (elapsed_s(start) < seconds);
  return best;
}

}  // namespace dt::kernels::cpu
