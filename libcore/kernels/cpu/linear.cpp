// oneDNN's sgemm reaches the speed of its matmul primitive on fp32 and needs no primitive to be built or
// kept.
#include "kernels/linear.hpp"

#include <chrono>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/ranges.hpp"

namespace dt::kernels::cpu {
namespace {

/// A row-major matrix; `transposed` says how it enters the product, `stride` is its rows' length as stored.
struct Matrix {
  const float* data;
  std::int64_t stride;
  bool transposed;
};

/// oneDNN takes its number of threads from the calling thread's OpenMP setting.
class ThreadsScope {
 public:
  explicit ThreadsScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadsScope() { omp_set_num_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;

 private:
  int before_;
};

/// c_MN = beta · c + a_MK · b_KN.
void multiply(const Context& context, std::int64_t M, std::int64_t N, std::int64_t K, Matrix a, Matrix b,
              float beta, float* c) {
  if (M == 0 || N == 0) return;
  const ThreadsScope threads(context.threads());
  const dnnl_status_t status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', M, N, K, 1,
                                          a.data, a.stride, b.data, b.stride, beta, c, N);
  if (status == dnnl_out_of_memory)
    throw environment_error("no memory for a matrix product of {} × {} × {}", M, N, K);
  DT_CHECK(status == dnnl_success, "dnnl_sgemm returned {} for {} × {} × {}", static_cast<int>(status), M, N,
           K);
}

}  // namespace

void linear(const Context& context, const Tensor& x_RK, const Tensor& w_NK, const Tensor& bias_N,
            const Tensor& residual_RN, const Tensor& y_RN) {
  const std::int64_t R = x_RK.dim(0), K = x_RK.dim(1), N = w_NK.dim(0);
  const Matrix x{x_RK.data<float>(), K, false}, w{w_NK.data<float>(), K, true};
  if (residual_RN && residual_RN.raw() != y_RN.raw()) cpu::copy(context, residual_RN, y_RN);
  multiply(context, R, N, K, x, w, residual_RN ? 1 : 0, y_RN.data<float>());
  if (!bias_N) return;
  const float* bias = bias_N.data<float>();
  float* y = y_RN.data<float>();
  for_ranges(context, R, N, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) add_range(y + r * N, bias, y + r * N, N);
  });
}

void linear_backward_input(const Context& context, const Tensor& dy_RN, const Tensor& w_NK,
                           const Tensor& dx_RK) {
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1), K = w_NK.dim(1);
  multiply(context, R, K, N, {dy_RN.data<float>(), N, false}, {w_NK.data<float>(), K, false}, 0,
           dx_RK.data<float>());
}

void linear_backward_weight(const Context& context, const Tensor& dy_RN, const Tensor& x_RK,
                            const Tensor& dw_NK, const Tensor& dbias_N) {
  const std::int64_t R = dy_RN.dim(0), N = dy_RN.dim(1), K = x_RK.dim(1);
  const float* dy = dy_RN.data<float>();
  multiply(context, N, K, R, {dy, N, true}, {x_RK.data<float>(), K, false}, 1, dw_NK.data<float>());
  if (!dbias_N) return;
  add_column_sums(context, R, N, {dbias_N}, [=](std::int64_t begin, std::int64_t end, float* sums) {
    sum_columns(dy + begin * N, end - begin, N, sums);
  });
}

double measure_matmul_rate(const Context& context, DType multiply, double seconds) {
  DT_CHECK(multiply == DType::f32, "there is no product of {}", dtype_name(multiply));
  using Clock = std::chrono::steady_clock;
  const auto elapsed_s = [](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count();
  };
  constexpr std::int64_t n = 1536;
  const Arena::Scope scope(context.scratch());
  const Tensor abc = context.scratch().allocate(DType::f32, {3, n, n});
  zero(context, abc);
  float* a = abc.data<float>();
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto before = Clock::now();
    cpu::multiply(context, n, n, n, {a, n, false}, {a + n * n, n, true}, 0, a + 2 * n * n);
    best = std::max(best, 2.0 * n * n * n / elapsed_s(before));
  } while (elapsed_s(start) < seconds);
  return best;
}

}  // namespace dt::kernels::cpu
