#include "kernels/linear.hpp"

#include <chrono>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/ranges.hpp"

namespace dt::kernels::cpu {
namespace {

/// left · right, each as stored or transposed, into `output`.
Product product(const Tensor& left, bool left_transposed, const Tensor& right, bool right_transposed,
                const Tensor& output) {
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
  return p;
}

}  // namespace

void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& y_RN) {
  Product p = product(x_RK, false, w_NK, true, y_RN);
  p.bias = bias_N.raw();
  p.bias_dtype = bias_N.dtype();
  multiply(context, p);
}

void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK) {
  multiply(context, product(dy_RN, false, w_NK, false, dx_RK));
}

void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N) {
  Product p = product(dy_RN, true, x_RK, false, dw_NK);
  p.accumulate = true;
  multiply(context, p);
  if (!dbias_N) return;
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1);
  const float* dy = dy_RN.data<float>();
  add_column_sums(context, R, N, {dbias_N.data<float>()},
                  [=](std::int64_t begin, std::int64_t end, float* sums) {
                    sum_columns(dy + begin * N, end - begin, N, sums);
                  });
}

double measure_matmul_rate(const Context& context, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto elapsed_s = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  constexpr std::int64_t n = 1536;
  const Arena::Scope scope(context.scratch());
  const Tensor abc = context.scratch().allocate(DType::f32, {3, n, n});
  zero(context, abc);
  const Tensor a = abc.flat(0, n * n).reshaped({n, n}), b = abc.flat(n * n, n * n).reshaped({n, n}),
               c = abc.flat(2 * n * n, n * n).reshaped({n, n});
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto before = Clock::now();
    multiply(context, product(a, false, b, true, c));
    best = std::max(best, 2.0 * n * n * n / elapsed_s(before));
  } while (elapsed_s(start) < seconds);
  return best;
}

}  // namespace dt::kernels::cpu
