#include "bench/table/bytes.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <vector>

#include "bench/table/machine.hpp"
#include "bench/table/rows.hpp"
#include "bench/table/timing.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/norm.hpp"
#include "kernels/optimizer_step.hpp"

namespace dt::table {

namespace {

/// Measures the machine's streaming rate: the faster of a copy and a triad (McCalpin 1995) over arrays far
/// larger than caches. On a shared machine the rate may double from one second to the next. So it is
/// measured again and again, between the calls of the kernel that is compared with it.
class Streaming {
 public:
  /// Bytes a second of `body` and of streaming. Of many pairs of both, it is the one with the median ratio,
  /// since memory of a shared machine is fast in one second and slow in the next.
  struct Rates {
    double body = 0, streaming = 0;
    double ratio() const { return body / streaming; }
  };
  Rates compare(double bytes, const std::function<void()>& body) {
    std::vector<Rates> pairs;
    body();
    const auto measure = [&] {
      const double copied = 8.0 * count / time_s([&] { kernels::copy(context_, b_, a_); });
      const double streaming = std::max(copied, 12.0 * count / time_s([&] { triad(); }));
      pairs.push_back({bytes / time_s(body), streaming});
    };
    for (double taken = 0; pairs.size() < 9 || taken < at_least_s;) taken += time_s(measure);
    const auto median = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
    std::ranges::nth_element(pairs, median, {}, &Rates::ratio);
    return *median;
  }

 private:
  static constexpr std::int64_t count = std::int64_t{1} << 25;
  static constexpr double at_least_s = 2;
  void triad() {
    float* a = a_.data<float>();
    const float *b = b_.data<float>(), *c = c_.data<float>();
#pragma omp parallel for simd num_threads(table::num_threads())
    for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + 3.0f * c[i];
  }

  Context context_{num_threads(), Device::host()};
  Tensors tensors_;
  Tensor a_ = tensors_.empty(DType::f32, {count}), b_ = tensors_.floats(DType::f32, {count}),
         c_ = tensors_.floats(DType::f32, {count});
};

/// Prints a kernel's rate as a row.
class Rows {
 public:
  explicit Rows(DType dtype) : dtype_(dtype) {}
  void operator()(const char* kernel, double bytes, const std::function<void()>& body) {
    const Streaming::Rates rates = streaming_.compare(bytes, body);
    at_least(fmt::format("{}, {}: bytes ÷ time ÷ streaming rate", kernel, name_of(dtype_)), rates.ratio(),
             0.85, fmt::format("{:.1f} of {:.1f} GB/s", rates.body * 1e-9, rates.streaming * 1e-9));
  }

 private:
  DType dtype_;
  Streaming streaming_;
};

void report_adamw(const Context& context, DType dtype, Rows& row) {
  constexpr std::int64_t n = std::int64_t{1} << 26;
  Tensors t;
  const Tensor w = t.floats(DType::f32, {n}), g = t.floats(DType::f32, {n}), m = t.empty(DType::f32, {n}),
               v = t.empty(DType::f32, {n});
  const Tensor copy = dtype == DType::f32 ? Tensor() : t.empty(dtype, {n});
  const kernels::OptimizerStep step{.settings = {}, .lr = 1e-4, .step = 10, .grad_scale = 1};
  row("AdamW", double(n) * (28 + (copy ? double(dtype_bytes(dtype)) : 0)), [&] {
    kernels::optimizer_step(context, step, w, g, std::array{m, v}, copy);
  });
}

void report_norms(const Context& context, DType dtype, Rows& row) {
  constexpr std::int64_t R = 65536, C = 768;
  Tensors t;
  const Tensor x = t.floats(dtype, {R, C}), y = t.empty(dtype, {R, C}), dy = t.floats(dtype, {R, C}),
               dx = t.floats(dtype, {R, C});
  const Tensor w = t.floats(dtype, {C}), b = t.floats(dtype, {C}), dw = t.empty(DType::f32, {C}),
               db = t.empty(DType::f32, {C});
  const Tensor mean = t.empty(DType::f32, {R}), rstd = t.empty(DType::f32, {R});
  const double bytes = double(x.bytes());
  row("layer norm", 2 * bytes, [&] { kernels::layer_norm(context, x, w, b, 1e-5, y, mean, rstd); });
  row("layer norm backward", 4 * bytes,
      [&] { kernels::layer_norm_backward(context, dy, x, w, mean, rstd, dx, y, dw, db); });
  row("RMS norm", 2 * bytes, [&] { kernels::rms_norm(context, x, w, 1e-5, y, rstd); });
  row("RMS norm backward", 4 * bytes,
      [&] { kernels::rms_norm_backward(context, dy, x, w, rstd, dx, y, dw); });
}

void report_cross_entropy(const Context& context, DType dtype, Rows& row) {
  constexpr std::int64_t R = 2048, V = 50257;
  Tensors t;
  const Tensor logits = t.floats(dtype, {R, V}), labels = t.labels(R, V), nll = t.empty(DType::f64, {R});
  const double bytes = double(logits.bytes());
  row("cross-entropy", bytes, [&] { kernels::cross_entropy(context, logits, labels, nll); });
  row("cross-entropy with gradient", 2 * bytes,
      [&] { kernels::cross_entropy_gradient(context, labels, 1e-3, nll, logits); });
}

}  // namespace

void report_bytes(DType dtype) {
  const Context context(num_threads(), Device::host());
  Rows row(dtype);
  report_adamw(context, dtype, row);
  report_norms(context, dtype, row);
  report_cross_entropy(context, dtype, row);
}

}  // namespace dt::table
