#include "gpu/bytes.hpp"

#include <functional>

#include "base/host.hpp"
#include "kernels/activation.hpp"
#include "kernels/adamw.hpp"
#include "kernels/attention.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/linear.hpp"
#include "kernels/norm.hpp"
#include "tensor/buffer.hpp"

namespace dt::test_device {

namespace {

// Legend: R rows, C hidden, F feed-forward, V vocabulary, D head dim; N parameters, as many as R rows of C.
constexpr std::int64_t C = 2048, F = 4 * C, V = 50304, D = 128;

/// The tensors of one kernel, given back after it.
class Measure {
 public:
  Measure(const Context& context, std::int64_t rows, int times) : context_(context), R(rows), times_(times) {}

  /// Of ones.
  Tensor tensor(Shape shape, DType dtype = DType::bf16) {
    const std::size_t bytes = static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype);
    const Tensor made(memory_.emplace_back(context_.device(), bytes), dtype, std::move(shape));
    if (dtype == DType::i32)
      kernels::zero(context_, made);
    else
      kernels::fill(context_, 1, made);
    return made;
  }
  Tensor like_rows(std::int64_t columns) { return tensor({R, columns}); }

  /// `moved`: bytes of R rows of one column.
  void of(const char* kernel, std::int64_t moved, const std::function<void()>& run) {
    run();
    context_.finish();
    const double before_s = monotonic_s();
    for (int i = 0; i < times_; ++i) run();
    context_.finish();
    rates.push_back({kernel, static_cast<double>(R * moved), (monotonic_s() - before_s) / times_});
    memory_.clear();
  }

  std::vector<Rate> rates;

 private:
  const Context& context_;

 public:
  const std::int64_t R;

 private:
  int times_;
  std::vector<Buffer> memory_;
};

void of_elements(const Context& context, Measure& measure) {
  const std::int64_t R = measure.R;
  const Tensor from = measure.like_rows(C), to = measure.like_rows(C);
  measure.of("copy", 4 * C, [=, &context] { kernels::copy(context, from, to); });
  const Tensor a = measure.like_rows(C), b = measure.like_rows(C);
  measure.of("add", 6 * C, [=, &context] { kernels::add(context, a, b, b); });
  const Tensor wide = measure.tensor({R, C}, DType::f32), narrow = measure.like_rows(C);
  measure.of("convert", 6 * C, [=, &context] { kernels::convert(context, wide, narrow); });
  const Tensor values = measure.tensor({R * C}, DType::f32),
               partials = measure.tensor({kernels::num_sum_blocks(R * C)}, DType::f64);
  measure.of("sum_squares_by_block", 4 * C,
             [=, &context] { kernels::sum_squares_by_block(context, values, partials); });
}

void of_optimizer(const Context& context, Measure& measure) {
  const auto parameters = [&] { return measure.tensor({measure.R * C}, DType::f32); };
  const Tensor w = parameters(), g = parameters(), m = parameters(), v = parameters(),
               copy = measure.tensor({measure.R * C});
  const kernels::AdamWStep step{1e-3, 0.9, 0.95, 1e-8, 0.1, 1, 1};
  measure.of("adamw", 30 * C, [=, &context] { kernels::adamw(context, step, w, g, m, v, copy); });
}

void of_norms(const Context& context, Measure& measure) {
  const std::int64_t R = measure.R;
  for (const bool is_backward : {false, true}) {
    const Tensor x = measure.like_rows(C), dy = measure.like_rows(C), around = measure.like_rows(C);
    const Tensor w = measure.tensor({C}), dw = measure.tensor({C}, DType::f32),
                 db = measure.tensor({C}, DType::f32);
    const Tensor mean = measure.tensor({R}, DType::f32), rstd = measure.tensor({R}, DType::f32);
    if (is_backward)
      measure.of("layer_norm_backward", 8 * C, [=, &context] {
        kernels::layer_norm_backward(context, dy, x, w, mean, rstd, around, around, dw, db);
      });
    else
      measure.of("layer_norm", 4 * C,
                 [=, &context] { kernels::layer_norm(context, x, w, w, 1e-5, dy, mean, rstd); });
  }
  const Tensor dy = measure.like_rows(C), db = measure.tensor({C}, DType::f32);
  measure.of("bias_backward", 2 * C, [=, &context] { kernels::bias_backward(context, dy, db); });
}

void of_activations(const Context& context, Measure& measure) {
  const Tensor x = measure.like_rows(F), y = measure.like_rows(F);
  measure.of("gelu", 4 * F, [=, &context] { kernels::gelu(context, x, y); });
  const Tensor dy = measure.like_rows(F), up = measure.like_rows(F);
  measure.of("gelu_backward", 6 * F, [=, &context] { kernels::gelu_backward(context, dy, up, up); });
  const Tensor both = measure.like_rows(2 * F), hidden = measure.like_rows(F);
  measure.of("swiglu", 6 * F, [=, &context] { kernels::swiglu(context, both, hidden); });
  const Tensor dhidden = measure.like_rows(F), dboth = measure.like_rows(2 * F);
  measure.of("swiglu_backward", 10 * F,
             [=, &context] { kernels::swiglu_backward(context, dhidden, dboth, dboth); });
}

void of_heads(const Context& context, Measure& measure) {
  const std::int64_t R = measure.R;
  const kernels::AttentionShape shape{1, R, C / D, C / D, D};
  const Tensor qkv = measure.like_rows(3 * C), positions = measure.tensor({R}, DType::i32),
               table = measure.tensor({1, D / 2}, DType::f32);
  measure.of("rotary", 8 * C,
             [=, &context] { kernels::rotary(context, shape, positions, table, table, false, qkv); });
  const Tensor logits = measure.like_rows(V), labels = measure.tensor({R}, DType::i32),
               nll = measure.tensor({R}, DType::f64);
  measure.of("cross_entropy_gradient", 4 * V,
             [=, &context] { kernels::cross_entropy_gradient(context, labels, 1, nll, logits); });
}

}  // namespace

std::vector<Rate> kernel_rates(const Context& context, std::int64_t rows, int times) {
  Measure measure(context, rows, times);
  of_elements(context, measure);
  of_optimizer(context, measure);
  of_norms(context, measure);
  of_activations(context, measure);
  of_heads(context, measure);
  return measure.rates;
}

}  // namespace dt::test_device
